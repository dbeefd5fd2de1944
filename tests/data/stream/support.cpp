#include "tests/data/stream/support.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <stdexcept>

#include "tests/data/sources/support.h"

namespace shoal::data {
namespace {

class TextSource : public ByteSource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
  size_t read(void* to, size_t bytes) override {
    const size_t count = std::min(bytes, text_.size() - at_);
    std::memcpy(to, text_.data() + at_, count);
    at_ += count;
    return count;
  }
  uint64_t position() const override { return at_; }
  const std::string& name() const override { return name_; }

 private:
  std::string text_, name_ = "a pipe";
  size_t at_ = 0;
};

}  // namespace

void make_pipe(const std::string& path) {
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
}

WriterProcess::WriterProcess(const std::string& path, const std::function<void(int)>& write)
    : process_(::fork()) {
  REQUIRE(process_ >= 0);
  if (process_ > 0) return;
  ::signal(SIGPIPE, SIG_DFL);
  const int descriptor = ::open(path.c_str(), O_WRONLY);
  if (descriptor < 0) ::_exit(9);
  write(descriptor);
  ::_exit(0);
}

WriterProcess::WriterProcess(const std::string& path, const std::string& text)
    : WriterProcess(path, [&](int descriptor) { write_text(descriptor, text); }) {}

WriterProcess::~WriterProcess() {
  kill();
}

void WriterProcess::kill() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  wait();
}

int WriterProcess::wait() {
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void write_text(int descriptor, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
    if (count <= 0) ::_exit(8);
    done += static_cast<size_t>(count);
  }
}

std::vector<std::string> described(RecordStream& stream) {
  std::vector<std::string> lines;
  for (StreamImage image; stream.next(image);) {
    const std::string name = image.name.substr(image.name.find_last_of("/:") + 1);
    const std::string content = image.damage.empty()
                                    ? std::string(image.bytes.begin(), image.bytes.end())
                                    : "(" + image.damage + ")";
    lines.push_back(std::to_string(image.label) + " " + name + " " + content);
  }
  return lines;
}

std::vector<std::string> streamed(const std::string& bytes, const std::vector<std::string>& classes,
                                  const std::string& tfrecord_keys) {
  TextSource source(bytes);
  const StreamLabels labels(classes);
  const ExampleKeys keys = parse_example_keys(tfrecord_keys);
  return described(*open_record_stream(source, labels, keys));
}

std::string error_of_stream(const std::string& bytes, const std::vector<std::string>& classes,
                            const std::string& tfrecord_keys) {
  try {
    streamed(bytes, classes, tfrecord_keys);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

std::vector<int32_t> sorted(std::vector<int32_t> labels) {
  std::sort(labels.begin(), labels.end());
  return labels;
}

LoaderOptions small(bool train) {
  LoaderOptions options;
  options.seed = 5;
  options.train = train;
  options.batch_size = 4;
  options.transform.size = 24;
  options.transform.eval_resize = 28;
  options.transform.eval_size = 24;
  options.hash = true;
  return options;
}

OpenOptions opening(int64_t shuffle_buffer) {
  OpenOptions options;
  for (int i = 0; i < 50; ++i) options.classes.push_back("c" + std::to_string(100 + i));
  options.shuffle_buffer = shuffle_buffer;
  options.pipe_patience = {10, 10};
  return options;
}

std::string tar_of(int64_t count, int64_t damaged) {
  Members members;
  for (int64_t i = 0; i < count; ++i) {
    const Bytes bytes = made_jpeg(i);
    const std::string image = i == damaged ? "no image" : std::string(bytes.begin(), bytes.end());
    const std::string name = std::to_string(100 + i % 50) + "/" + std::to_string(1 + i / 50);
    members.push_back({"c" + name + ".jpg", image});
  }
  return make_tar(members);
}

}  // namespace shoal::data
