#include "data/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace shoal::data {
namespace {

struct stat status_of(int descriptor, const std::string& path) {
  struct stat s {};
  if (::fstat(descriptor, &s) != 0) throw FileFailure("examine", path, errno);
  return s;
}

int open_to_read(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw FileFailure("open", path, errno);
  return descriptor;
}

int64_t read_from(int descriptor, const std::string& path, uint64_t offset, void* to,
                  int64_t bytes) {
  int64_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(descriptor, static_cast<char*>(to) + done,
                              static_cast<size_t>(bytes - done), static_cast<off_t>(offset) + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw FileFailure("read", path, errno);
    if (n == 0) break;
    done += n;
  }
  return done;
}

struct Closing {
  int descriptor;
  ~Closing() { ::close(descriptor); }
};

}  // namespace

FileFailure::FileFailure(const char* what, const std::string& path, int error)
    : std::runtime_error("cannot " + std::string(what) + " " + path + ": " +
                         std::generic_category().message(error)),
      what_failed_("cannot " + std::string(what) +
                   " it: " + std::generic_category().message(error)),
      error_(error) {}

int64_t ReadableMemory::read_at(uint64_t offset, void* to, int64_t bytes) const {
  const uint64_t left = offset < bytes_.size() ? bytes_.size() - offset : 0;
  const auto count = static_cast<size_t>(std::min<uint64_t>(left, static_cast<uint64_t>(bytes)));
  if (count > 0) std::memcpy(to, bytes_.data() + offset, count);
  return static_cast<int64_t>(count);
}

File::File(std::string path) : path_(std::move(path)), descriptor_(open_to_read(path_)) {}

File::File(int descriptor, std::string path) : path_(std::move(path)), descriptor_(descriptor) {}

File::~File() {
  ::close(descriptor_);
}

FileStamp File::stamp() const {
  const struct stat s = status_of(descriptor_, path_);
  return {s.st_size, s.st_mtim.tv_sec * int64_t{1'000'000'000} + s.st_mtim.tv_nsec};
}

bool File::is_regular() const {
  return S_ISREG(status_of(descriptor_, path_).st_mode);
}

int64_t File::read_at(uint64_t offset, void* to, int64_t bytes) const {
  return read_from(descriptor_, path_, offset, to, bytes);
}

int64_t read_file(const std::string& path, int64_t most, std::vector<uint8_t>& bytes) {
  const Closing file{open_to_read(path)};
  const int64_t size = status_of(file.descriptor, path).st_size;
  if (size > most) return size;
  bytes.resize(static_cast<size_t>(size));
  bytes.resize(static_cast<size_t>(read_from(file.descriptor, path, 0, bytes.data(), size)));
  return size;
}

void File::will_read_forward() const {
  ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
}

}  // namespace shoal::data
