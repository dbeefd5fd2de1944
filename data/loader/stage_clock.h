#pragma once
// Where the loader's threads spend their time: each thread that has a clock tells it when a stage
// ends. Without a clock a lap is one look at a thread-local pointer.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace shoal::data {

enum class Stage {
  read,       // bytes from the file system, and the image's kept index
  entropy,    // Huffman decoding and walking, with stripping and making the index
  transform,  // IDCT
  library,    // a decode by libjpeg-turbo or OpenCV
  resize,     // chroma's upsampling, colour, crop, resampling, flip
  augment,    // what changes pixels after that
  wait,       // for a free place in a batch
};
inline constexpr int kStages = 7;
std::string stage_name(Stage stage);

// Sums, in seconds.
struct StageTimes {
  std::array<double, kStages> seconds{};
  double cpu_seconds = 0;  // of the threads; less than the seconds where they were kept waiting
  int64_t bytes = 0;       // that were read
  int64_t images = 0;
  double of(Stage stage) const { return seconds[static_cast<size_t>(stage)]; }
  double busy_seconds() const;  // all but waiting for a place
  StageTimes& operator+=(const StageTimes& other);
  StageTimes operator-(const StageTimes& other) const;
};

// One thread's; that thread attaches it and writes, any thread reads the times.
class StageClock {
 public:
  // From now on laps of the calling thread are counted here, until it ends.
  void attach();
  StageTimes times() const;

  void lap(Stage stage);
  void image_done(int64_t bytes);

  static inline constinit thread_local StageClock* here = nullptr;

 private:
  std::array<std::atomic<int64_t>, kStages> nanoseconds_{};
  std::atomic<int64_t> cpu_nanoseconds_{0}, bytes_{0}, images_{0};
  int64_t last_ = 0;
};

// What the calling thread did since its last lap was `stage`.
inline void lap(Stage stage) {
  if (StageClock* clock = StageClock::here) clock->lap(stage);
}
inline void image_done(int64_t bytes) {
  if (StageClock* clock = StageClock::here) clock->image_done(bytes);
}

}  // namespace shoal::data
