#include "base/file/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace shoal {

int Descriptor::close() noexcept {
  const int number = release();
  return number < 0 || ::close(number) == 0 ? 0 : errno;
}

Descriptor open_file(const char* path, int flags, unsigned mode) {
  int number = -1;
  do number = ::open(path, flags | O_CLOEXEC, mode);
  while (number < 0 && errno == EINTR);
  return Descriptor(number);
}

bool is_removed(int descriptor) noexcept {
  struct stat info {};
  return ::fstat(descriptor, &info) == 0 ? info.st_nlink == 0 : errno == ESTALE;
}

int flush_file(int descriptor) noexcept {
  while (::fsync(descriptor) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

void open_standard_files() noexcept {
  // open() returns the lowest free number.
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number)
    if (::fcntl(number, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != number) return;
}

int64_t read_some(int descriptor, void* to, size_t size) noexcept {
  ssize_t count = -1;
  do count = ::read(descriptor, to, size);
  while (count < 0 && errno == EINTR);
  return count;
}

int64_t read_at(int descriptor, void* to, size_t size, uint64_t offset) noexcept {
  size_t done = 0;
  while (done < size) {
    const ssize_t count = ::pread(descriptor, static_cast<char*>(to) + done, size - done,
                                  static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return static_cast<int64_t>(done);
}

int write_all(int descriptor, const void* bytes, size_t size) noexcept {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t count = ::write(descriptor, at, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      pollfd file{descriptor, POLLOUT, 0};
      ::poll(&file, 1, -1);
      continue;
    }
    if (count <= 0) return count < 0 ? errno : EIO;
    at += count;
    size -= static_cast<size_t>(count);
  }
  return 0;
}

void throw_file_error(const char* what, const std::filesystem::path& path, int error) {
  throw std::system_error(
      error, std::generic_category(),
      std::string("cannot ") + what + " " + path.string() +
          (error == EFBIG ? " beyond the limit of file sizes (ulimit -f)" : ""));
}

}  // namespace shoal
