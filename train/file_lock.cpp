#include "train/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

namespace shoal::train {

FileLock::FileLock(const std::filesystem::path& file, double seconds) {
  using Clock = std::chrono::steady_clock;
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) return;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (Clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      continue;
    }
    ::close(descriptor_);
    throw std::runtime_error(
        "another run is writing to " + file.parent_path().string() +
        "; wait until it has ended, or choose another --output (--checkpoint-dir)");
  }
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

}  // namespace shoal::train
