#include "base/output.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace shoal {
namespace {

std::atomic<bool> limited = false;
std::atomic<bool> dropped[3] = {};  // whether text for descriptor 0, 1 or 2 is dropped
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers use them");

constexpr int kWaitMs = 100;
constexpr int kMostWaits = 10;

// Opens the pipe or terminal of `descriptor` a second time, with O_NONBLOCK. Setting this flag on
// `descriptor` itself would also affect other processes. Returns -1 if opening fails or if
// `descriptor` is neither a pipe nor a terminal, but for example a regular file or a socket.
int open_again(int descriptor, mode_t mode) {
  if (!S_ISFIFO(mode) && !S_ISCHR(mode)) return -1;
  char path[] = "/proc/self/fd/0";
  path[sizeof path - 2] = static_cast<char>('0' + descriptor);
  return ::open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// Waits until poll() reports space, but at most kWaitMs. Without `poll_it`, sleeps for kWaitMs: use
// this if poll() reported space that write() could not use.
void wait_for_space(int file, bool poll_it) {
  pollfd one{file, POLLOUT, 0};
  ::poll(&one, poll_it ? 1 : 0, kWaitMs);
}

// Writes the text to `file`: `descriptor` itself (stdout or stderr) or the result of open_again().
// `blocks`: whether write() blocks while there is no space. Returns 0 or errno.
int write_all_to(int file, int descriptor, bool blocks, const char* text, size_t size) {
  bool waited = false;
  for (int waits = 0; size > 0;) {
    if (dropped[descriptor]) return 0;
    pollfd space{file, POLLOUT, 0};
    ssize_t count = -1;
    errno = EAGAIN;
    // If poll() reports any space, a write of at most PIPE_BUF bytes does not block.
    if (!blocks || ::poll(&space, 1, 0) != 0)
      count = ::write(file, text, blocks ? std::min<size_t>(size, PIPE_BUF) : size);
    if (count > 0) {
      text += count;
      size -= static_cast<size_t>(count);
      waited = false;
    } else if (count < 0 && errno == EAGAIN) {
      wait_for_space(file, !waited);
      waited = true;
      if (limited && ++waits >= kMostWaits) dropped[descriptor] = true;
    } else if (count == 0 || errno != EINTR) {
      return count < 0 ? errno : EIO;
    }
  }
  return 0;
}

}  // namespace

int write_output(int descriptor, const char* text, size_t size) noexcept {
  struct stat status {};
  ::fstat(descriptor, &status);  // if this fails, `status` stays zero, and write() fails too
  const int again = open_again(descriptor, status.st_mode);
  const bool blocks = again < 0 && !S_ISREG(status.st_mode);
  const int error = write_all_to(again >= 0 ? again : descriptor, descriptor, blocks, text, size);
  if (again >= 0) ::close(again);
  return error;
}

void limit_output_waits() noexcept {
  limited = true;
}

}  // namespace shoal
