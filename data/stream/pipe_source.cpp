// Pipes are opened without blocking, so that open() cannot hang if there is no writer. poll()
// reports nothing until a writer opens the pipe, then POLLIN for bytes, and POLLHUP once the last
// writer has closed the pipe, even if nothing was written.
#include "data/stream/pipe_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/now.h"

namespace shoal::data {
namespace {

constexpr size_t kPipeBuffer = size_t{1} << 20;  // bytes
constexpr int kPollMs = 1000;                    // maximum time between checks of the timeout
constexpr int kLookAgainMs = 50;                 // poll interval for a pipe that does not exist

std::string whole_seconds(double seconds) {
  return std::to_string(std::llround(seconds)) + " s";
}

}  // namespace

Interrupt::Interrupt() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0) throw FileFailure("make", "an event", errno);
}

Interrupt::~Interrupt() {
  ::close(descriptor_);
}

void Interrupt::raise() {
  ::eventfd_write(descriptor_, 1);
}

PipeSource::PipeSource(std::string path, std::shared_ptr<Interrupt> interrupt,
                       const PipePatience& patience)
    : path_(std::move(path)), interrupt_(std::move(interrupt)), patience_(patience) {}

PipeSource::~PipeSource() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

size_t PipeSource::read(void* to, size_t bytes) {
  if (descriptor_ < 0) open();
  size_t done = 0;
  while (done < bytes) {
    if (begin_ == end_ && fill() == 0) break;
    const size_t count = std::min(bytes - done, end_ - begin_);
    std::memcpy(static_cast<uint8_t*>(to) + done, buffer_.data() + begin_, count);
    begin_ += count;
    done += count;
  }
  position_ += done;
  return done;
}

void PipeSource::open() {
  const double start = now();
  while ((descriptor_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0) {
    if (errno != ENOENT && errno != EINTR) throw FileFailure("open", path_, errno);
    if (now() - start > patience_.appear_seconds)
      throw std::runtime_error(path_ + " has not appeared within " +
                               whole_seconds(patience_.appear_seconds) +
                               "; check the channel's name and that its input mode is Pipe");
    pause();
  }
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) throw FileFailure("examine", path_, errno);
  if (!S_ISFIFO(status.st_mode) && !S_ISREG(status.st_mode))
    throw std::invalid_argument(path_ + " is neither a pipe nor a file");
  buffer_.resize(kPipeBuffer);
}

void PipeSource::pause() const {
  pollfd one{interrupt_->descriptor(), POLLIN, 0};
  if (::poll(&one, 1, kLookAgainMs) > 0) throw Interrupted();
}

// Waits for bytes and reads those that are available into the buffer. Returns their number, 0 at
// the end.
size_t PipeSource::fill() {
  double start = now();
  while (!ended_) {
    pollfd both[] = {{descriptor_, POLLIN, 0}, {interrupt_->descriptor(), POLLIN, 0}};
    const int found = ::poll(both, 2, kPollMs);
    if (found < 0 && errno != EINTR) throw FileFailure("wait for", path_, errno);
    if (found > 0 && both[1].revents != 0) throw Interrupted();
    const ssize_t count = ::read(descriptor_, buffer_.data(), buffer_.size());
    if (count < 0 && errno != EAGAIN && errno != EINTR) throw FileFailure("read", path_, errno);
    // read() returns 0 at the end, but also before a writer opens the pipe. In the second case,
    // poll() reports no event.
    const bool ends = count == 0 && found > 0;
    if ((count > 0 || ends || (count < 0 && errno == EAGAIN)) && !std::exchange(opened_, true))
      start = now();
    begin_ = 0;
    end_ = static_cast<size_t>(std::max<ssize_t>(count, 0));
    ended_ = ends;
    if (count > 0) return end_;
    if (!ended_) require_patience(start);
  }
  return 0;
}

// Throws std::runtime_error if the wait exceeds patience_. `start`: now() when the wait began.
void PipeSource::require_patience(double start) const {
  const double seconds = opened_ ? patience_.stall_seconds : patience_.appear_seconds;
  if (now() - start <= seconds) return;
  throw std::runtime_error(path_ +
                           (opened_ ? " has sent nothing for " : " has had no writer for ") +
                           whole_seconds(seconds) + " (at byte " + std::to_string(position_) +
                           "); check the process that writes it");
}

}  // namespace shoal::data
