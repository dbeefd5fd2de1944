#include "base/file/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"

namespace shoal {
namespace {

// Whether the previous holder removed the file after we opened it and before we locked it.
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
    Descriptor opened = open_file(file.c_str(), O_RDWR | O_CREAT, 0644);
    const bool locked = opened.is_open() && ::flock(opened.number(), LOCK_EX | LOCK_NB) == 0;
    const int error = locked ? 0 : errno;
    if (error == EINTR) continue;
    if (error == ENOENT) return;
    const bool busy = error == EWOULDBLOCK;
    if (error != 0 && !busy)
      log::warning("cannot lock " + file.string() + " (" + std::generic_category().message(error) +
                   "): make sure that no other run writes to " + target);
    if (!opened.is_open()) return;
    if (!busy && !is_removed(opened.number())) {
      descriptor_ = std::move(opened);
      return;
    }
    opened.close();
    if (busy && Clock::now() >= end)
      throw std::runtime_error("another run is writing to " + target +
                               "; wait until it has ended, or choose another " + choice);
    std::this_thread::sleep_for(std::chrono::milliseconds(busy ? 50 : 0));
  }
}

void FileLock::remove_file() const {
  if (held()) ::unlink(file_.c_str());
}

}  // namespace shoal
