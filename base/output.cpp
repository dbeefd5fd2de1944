#include "base/output.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace shoal {
namespace {

std::atomic<bool> limited = false;
std::atomic<bool> dropped[3] = {};  // by descriptor
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers use them");

constexpr int kWaitMs = 100;
constexpr int kMostWaits = 10;
// If poll() reports space, a pipe takes PIPE_BUF bytes without waiting, and a terminal takes these.
constexpr size_t kTerminalBytes = 256;

}  // namespace

int write_output(int descriptor, const char* text, size_t size) noexcept {
  const size_t most = ::isatty(descriptor) == 1 ? kTerminalBytes : PIPE_BUF;
  for (int waits = 0; size > 0;) {
    if (limited && dropped[descriptor]) return 0;
    pollfd file{descriptor, POLLOUT, 0};
    const int ready = ::poll(&file, 1, kWaitMs);
    if (ready < 0 && errno != EINTR) return errno;
    if (ready <= 0) {
      if (limited && ++waits >= kMostWaits) dropped[descriptor] = true;
      continue;
    }
    const ssize_t count = ::write(descriptor, text, std::min(size, most));
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return count < 0 ? errno : EIO;
    text += count;
    size -= static_cast<size_t>(count);
  }
  return 0;
}

void limit_output_waits() noexcept {
  limited = true;
}

}  // namespace shoal
