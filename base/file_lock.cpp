#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

namespace shoal {
namespace {

// True if the previous holder removed the file after we opened it and before we locked it.
bool is_removed(int descriptor) {
  struct stat info {};
  return ::fstat(descriptor, &info) == 0 && info.st_nlink == 0;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& file, const std::string& target,
                   const std::string& choice, double seconds)
    : file_(file) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0) return;
    const bool busy = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!busy && !is_removed(descriptor_)) return;
    ::close(std::exchange(descriptor_, -1));
    if (busy && Clock::now() >= end)
      throw std::runtime_error("another run is writing to " + target +
                               "; wait until it has ended, or choose another " + choice);
    std::this_thread::sleep_for(std::chrono::milliseconds(busy ? 50 : 0));
  }
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileLock::FileLock(FileLock&& other) noexcept
    : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void FileLock::remove_file() const {
  if (held()) ::unlink(file_.c_str());
}

}  // namespace shoal
