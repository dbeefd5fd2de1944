#include "data/stage_clock.h"

#include <time.h>

namespace shoal::data {
namespace {

int64_t nanoseconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// Only the clock's own thread writes, so no atomic read-modify-write is needed.
void add(std::atomic<int64_t>& sum, int64_t value) {
  sum.store(sum.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

}  // namespace

std::string stage_name(Stage stage) {
  switch (stage) {
    case Stage::read:
      return "read";
    case Stage::entropy:
      return "entropy decode";
    case Stage::transform:
      return "IDCT";
    case Stage::library:
      return "library decode";
    case Stage::resize:
      return "resize";
    case Stage::augment:
      return "augment";
    case Stage::wait:
      return "wait";
  }
  return "";
}

double StageTimes::busy_seconds() const {
  double sum = -of(Stage::wait);
  for (const double s : seconds) sum += s;
  return sum;
}

StageTimes& StageTimes::operator+=(const StageTimes& other) {
  for (size_t i = 0; i < seconds.size(); ++i) seconds[i] += other.seconds[i];
  cpu_seconds += other.cpu_seconds;
  bytes += other.bytes;
  images += other.images;
  return *this;
}

StageTimes StageTimes::operator-(const StageTimes& other) const {
  StageTimes left = *this;
  for (size_t i = 0; i < seconds.size(); ++i) left.seconds[i] -= other.seconds[i];
  left.cpu_seconds -= other.cpu_seconds;
  left.bytes -= other.bytes;
  left.images -= other.images;
  return left;
}

void StageClock::attach() {
  here = this;
  last_ = nanoseconds(CLOCK_MONOTONIC);
}

void StageClock::lap(Stage stage) {
  const int64_t now = nanoseconds(CLOCK_MONOTONIC);
  add(nanoseconds_[static_cast<size_t>(stage)], now - last_);
  last_ = now;
}

void StageClock::image_done(int64_t bytes) {
  add(bytes_, bytes);
  add(images_, 1);
  cpu_nanoseconds_.store(nanoseconds(CLOCK_THREAD_CPUTIME_ID), std::memory_order_relaxed);
}

StageTimes StageClock::times() const {
  StageTimes times;
  for (size_t i = 0; i < times.seconds.size(); ++i)
    times.seconds[i] = 1e-9 * static_cast<double>(nanoseconds_[i].load(std::memory_order_relaxed));
  times.cpu_seconds = 1e-9 * static_cast<double>(cpu_nanoseconds_.load(std::memory_order_relaxed));
  times.bytes = bytes_.load(std::memory_order_relaxed);
  times.images = images_.load(std::memory_order_relaxed);
  return times;
}

}  // namespace shoal::data
