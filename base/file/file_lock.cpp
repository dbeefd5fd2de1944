#include "base/file/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/file/whole_file.h"
#include "base/log.h"
#include "base/net/host.h"
#include "base/now.h"
#include "base/text.h"

namespace shoal {
namespace {

constexpr const char* kHolder = "process ";  // the file begins with this and the process's ID

// Writes who holds the lock into its file, for the error messages of other processes. If this fails
// (full disk), these messages do not name the holder. write_whole() would replace the file and so
// lose the lock.
void write_holder(int descriptor) {
  const std::string text = kHolder + std::to_string(::getpid()) + " on " + host_name();
  if (::ftruncate(descriptor, 0) == 0) write_all(descriptor, text.data(), text.size());
}

[[noreturn]] void fail_locked(const std::filesystem::path& file, const std::string& target,
                              const std::string& choice) {
  const std::string holder = read_if_readable(file).value_or("");
  throw std::runtime_error("another run is writing to " + target +
                           (holder.empty() ? "" : " (" + printable(holder) + ")") +
                           "; wait until it has ended, or choose another " + choice);
}

}  // namespace

bool is_lock_file(const std::filesystem::path& file) {
  // After a power loss, zeros may replace the end of the text or all of it.
  std::string begin =
      read_if_readable(file).value_or("").substr(0, std::string_view(kHolder).size());
  begin.resize(begin.find_last_not_of('\0') + 1);  // npos + 1 is 0
  return std::string_view(kHolder).starts_with(begin);
}

bool is_locked(const std::filesystem::path& file) {
  const Descriptor lock = open_file(file.c_str(), O_RDONLY);
  return lock.is_open() && ::flock(lock.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void require_unlocked(const std::filesystem::path& file, const std::string& target,
                      const std::string& choice) {
  if (is_locked(file)) fail_locked(file, target, choice);
}

FileLock::FileLock(const std::filesystem::path& file, const std::string& target,
                   const std::string& choice, double seconds)
    : file_(file) {
  const double end = now() + seconds;
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
    // The lock's previous holder may remove the file before it releases the lock.
    if (!busy && !is_removed(opened.number())) {
      descriptor_ = std::move(opened);
      write_holder(descriptor_.number());
      return;
    }
    opened.close();
    if (busy && now() >= end) fail_locked(file, target, choice);
    std::this_thread::sleep_for(std::chrono::milliseconds(busy ? 50 : 0));
  }
}

void FileLock::remove_file() const {
  if (held()) ::unlink(file_.c_str());
}

}  // namespace shoal
