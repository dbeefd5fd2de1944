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
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

namespace shoal::data {
namespace {

using PipeClock = std::chrono::steady_clock;

constexpr size_t kPipeBuffer = size_t{1} << 20;  // bytes
constexpr int kLookAgainMs = 50;                 // poll interval for a pipe that does not exist

double seconds_since(PipeClock::time_point start) {
  return std::chrono::duration<double>(PipeClock::now() - start).count();
}

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
  const auto start = PipeClock::now();
  while ((descriptor_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0) {
    if (errno != ENOENT && errno != EINTR) throw FileFailure("open", path_, errno);
    if (seconds_since(start) > patience_.appear_seconds)
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

// Reads the available bytes into the buffer; returns 0 at the end.
size_t PipeSource::fill() {
  while (!ended_) {
    wait_for_bytes(opened_ ? patience_.stall_seconds : patience_.appear_seconds);
    const ssize_t count = ::read(descriptor_, buffer_.data(), buffer_.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count < 0) throw FileFailure("read", path_, errno);
    opened_ = true;
    begin_ = 0;
    end_ = static_cast<size_t>(count);
    ended_ = count == 0;
    if (count > 0) return end_;
  }
  return 0;
}

void PipeSource::wait_for_bytes(double seconds) {
  const auto start = PipeClock::now();
  for (;;) {
    pollfd both[] = {{descriptor_, POLLIN, 0}, {interrupt_->descriptor(), POLLIN, 0}};
    const int found = ::poll(both, 2, 1000);
    if (found < 0 && errno != EINTR) throw FileFailure("wait for", path_, errno);
    if (found > 0 && both[1].revents != 0) throw Interrupted();
    if (found > 0) return;
    if (seconds_since(start) <= seconds) continue;
    throw std::runtime_error(path_ +
                             (opened_ ? " has sent nothing for " : " has had no writer for ") +
                             whole_seconds(seconds) + " (at byte " + std::to_string(position_) +
                             "); check the process that writes it");
  }
}

}  // namespace shoal::data
