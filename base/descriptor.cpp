#include "base/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

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

int write_all(int descriptor, const void* bytes, size_t size) noexcept {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t count = ::write(descriptor, at, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EIO;
    at += count;
    size -= static_cast<size_t>(count);
  }
  return 0;
}

}  // namespace shoal
