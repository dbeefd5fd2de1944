#include "base/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace shoal {
namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const fs::path& path, const char* what = "write") {
  throw std::runtime_error(std::string("cannot ") + what + " " + path.string() + ": " +
                           std::generic_category().message(errno));
}

// A descriptor that is closed on every path.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

void write_all(int descriptor, const void* bytes, size_t size, const fs::path& path) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t done = ::write(descriptor, at, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail(path);
    at += done;
    size -= static_cast<size_t>(done);
  }
}

// Some network file systems know no fsync of directories; the rename is all they can do.
void sync_directory(const fs::path& directory, const fs::path& path) {
  const Descriptor file{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (file.number < 0 || ::fsync(file.number) == 0) return;
  if (errno != EINVAL && errno != ENOTSUP && errno != EROFS) fail(path);
}

}  // namespace

void write_whole(const fs::path& path, const std::function<void(const ByteSink&)>& produce,
                 const fs::path& aside) {
  const fs::path directory = path.has_parent_path() ? path.parent_path() : ".";
  const fs::path part = aside.empty() ? directory / ("." + path.filename().string() + ".part")
                                      : aside / path.filename();
  try {
    const Descriptor file{::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
    if (file.number < 0) fail(path);
    produce([&](const void* bytes, size_t size) { write_all(file.number, bytes, size, path); });
    if (::fsync(file.number) != 0) fail(path);
    if (::rename(part.c_str(), path.c_str()) != 0) fail(path);
  } catch (...) {
    ::unlink(part.c_str());  // on a full disk it would be in the way
    throw;
  }
  sync_directory(directory, path);
}

std::vector<char> read_whole_file(const fs::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info {};
  if (file.number < 0 || ::fstat(file.number, &info) != 0) fail(path, "read");
  std::vector<char> bytes(static_cast<size_t>(info.st_size));
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t done = ::read(file.number, bytes.data() + have, bytes.size() - have);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(path, "read");
    if (done == 0) break;
    have += static_cast<size_t>(done);
  }
  bytes.resize(have);
  return bytes;
}

void write_whole(const fs::path& path, const std::string& text) {
  write_whole(path, [&](const ByteSink& sink) { sink(text.data(), text.size()); });
}

}  // namespace shoal
