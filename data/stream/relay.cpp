#include "data/stream/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/file/whole_file.h"
#include "base/now.h"

namespace shoal::data {
namespace {

constexpr uint32_t kEnd = UINT32_MAX;  // value of Frame::bytes that marks the end of the stream
constexpr int kRelayBuffer = 1 << 20;  // bytes, if the system allows this size

// Header of an image in a pipe. The fields `bytes`, `name` and `damage` of StreamImage follow the
// header in this order; the header has their sizes in bytes.
struct Frame {
  uint32_t bytes = 0, name = 0, damage = 0;
  int32_t label = 0;
};

std::string relay_path(const StreamRelay& relay, int64_t epoch, int64_t place) {
  return relay.folder + "/" + std::to_string(epoch) + "_" + std::to_string(place);
}

// The write end of the pipe to another process.
class PipeSink {
 public:
  PipeSink(std::string path, std::shared_ptr<Interrupt> interrupt, double patience)
      : path_(std::move(path)), interrupt_(std::move(interrupt)), patience_(patience) {
    if (::mkfifo(path_.c_str(), 0600) != 0 && errno != EEXIST)
      throw FileFailure("make the pipe", path_, errno);
  }
  ~PipeSink() {
    ::unlink(path_.c_str());
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  PipeSink(const PipeSink&) = delete;
  PipeSink& operator=(const PipeSink&) = delete;

  void write(const void* from, size_t bytes) {
    if (descriptor_ < 0 && !gone_) open();
    const auto* at = static_cast<const uint8_t*>(from);
    while (bytes > 0 && !gone_) {
      const ssize_t count = ::write(descriptor_, at, bytes);
      if (count > 0) {
        at += count;
        bytes -= static_cast<size_t>(count);
      } else if (errno == EAGAIN) {
        wait(descriptor_, POLLOUT, 1000);
      } else if (errno == EPIPE) {
        gone_ = true;
      } else if (errno != EINTR) {
        throw FileFailure("write to", path_, errno);
      }
    }
  }

 private:
  // Waits for the reader, because a pipe without a reader cannot be opened for writing.
  void open() {
    const double start = now();
    while ((descriptor_ = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0) {
      if (errno != ENXIO && errno != EINTR) throw FileFailure("open", path_, errno);
      if (now() - start > patience_)
        throw std::runtime_error(path_ +
                                 ": the process that must read images from this pipe has not "
                                 "opened it; see the log of that rank");
      wait(-1, 0, 5);
    }
    ::fcntl(descriptor_, F_SETPIPE_SZ, kRelayBuffer);
    ::unlink(path_.c_str());
  }

  void wait(int descriptor, short events, int milliseconds) const {
    pollfd both[] = {{interrupt_->descriptor(), POLLIN, 0}, {descriptor, events, 0}};
    if (::poll(both, 2, milliseconds) > 0 && both[0].revents != 0) throw Interrupted();
  }

  std::string path_;
  std::shared_ptr<Interrupt> interrupt_;
  double patience_;
  int descriptor_ = -1;
  bool gone_ = false;  // the reader has closed the pipe
};

class RelayStream : public RecordStream {
 public:
  RelayStream(std::unique_ptr<RecordStream> stream, const StreamRelay& relay, int64_t epoch,
              const std::shared_ptr<Interrupt>& interrupt, const PipePatience& patience)
      : stream_(std::move(stream)) {
    create_folders(relay.folder);
    for (int64_t place = 1; place < relay.count; ++place)
      others_.push_back(std::make_unique<PipeSink>(relay_path(relay, epoch, place), interrupt,
                                                   patience.stall_seconds));
  }

  bool next(StreamImage& image) override {
    for (const auto& other : others_) {
      if (ended_ || !stream_->next(image)) return end();
      const Frame frame{static_cast<uint32_t>(image.bytes.size()),
                        static_cast<uint32_t>(image.name.size()),
                        static_cast<uint32_t>(image.damage.size()), image.label};
      other->write(&frame, sizeof frame);
      other->write(image.bytes.data(), image.bytes.size());
      other->write(image.name.data(), image.name.size());
      other->write(image.damage.data(), image.damage.size());
    }
    return (!ended_ && stream_->next(image)) || end();
  }

 private:
  bool end() {
    const Frame frame{kEnd};
    for (const auto& other : others_)
      if (!ended_) other->write(&frame, sizeof frame);
    ended_ = true;
    return false;
  }

  std::unique_ptr<RecordStream> stream_;
  std::vector<std::unique_ptr<PipeSink>> others_;
  bool ended_ = false;
};

class RelayedStream : public RecordStream {
 public:
  RelayedStream(std::string path, std::shared_ptr<Interrupt> interrupt,
                const PipePatience& patience)
      : source_(std::move(path), std::move(interrupt), patience) {}

  bool next(StreamImage& image) override {
    if (ended_) return false;
    Frame frame;
    read(&frame, sizeof frame);
    ended_ = frame.bytes == kEnd;
    if (ended_) return false;
    image.label = frame.label;
    image.bytes.resize(frame.bytes);
    image.name.resize(frame.name);
    image.damage.resize(frame.damage);
    read(image.bytes.data(), image.bytes.size());
    read(image.name.data(), image.name.size());
    read(image.damage.data(), image.damage.size());
    return true;
  }

 private:
  void read(void* to, size_t bytes) {
    if (source_.read(to, bytes) < bytes)
      throw std::invalid_argument(source_.name() +
                                  " is cut short: the process that reads the pipe of this host has "
                                  "ended; see its log");
  }

  PipeSource source_;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<RecordStream> open_relay(std::unique_ptr<RecordStream> stream,
                                         const StreamRelay& relay, int64_t epoch,
                                         std::shared_ptr<Interrupt> interrupt,
                                         const PipePatience& patience) {
  return std::make_unique<RelayStream>(std::move(stream), relay, epoch, interrupt, patience);
}

std::unique_ptr<RecordStream> open_relayed(const StreamRelay& relay, int64_t epoch,
                                           std::shared_ptr<Interrupt> interrupt,
                                           const PipePatience& patience) {
  // This process must wait longer than the first one, which waits for the host's pipe to appear, to
  // be opened, and to send its first image.
  const PipePatience longer{2 * patience.appear_seconds + patience.stall_seconds,
                            patience.stall_seconds};
  return std::make_unique<RelayedStream>(relay_path(relay, epoch, relay.place),
                                         std::move(interrupt), longer);
}

}  // namespace shoal::data
