#pragma once
// Measures where the threads of the loader spend their time. Code calls lap() at the end of each
// stage. In threads without an attached clock, lap() only checks a thread-local pointer.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace shoal::data {

enum class Stage {
  read,       // encoded bytes and the stored seek index
  entropy,    // Huffman decoding, including byte unstuffing and building the seek index
  transform,  // IDCT
  library,    // decoding by libjpeg-turbo or OpenCV
  resize,     // chroma upsampling, color conversion, crop, resampling, flip
  augment,    // augmentation of the resized pixels
  wait,       // waiting for a free row in a batch
};
inline constexpr int kStages = 7;
std::string stage_name(Stage stage);

// Times and counts, summed over images.
struct StageTimes {
  std::array<double, kStages> seconds{};
  double cpu_seconds = 0;  // CPU time of the threads, without the time that they waited
  int64_t bytes = 0;       // encoded bytes read
  int64_t images = 0;
  double of(Stage stage) const { return seconds[static_cast<size_t>(stage)]; }
  double busy_seconds() const;  // all but Stage::wait
  StageTimes& operator+=(const StageTimes& other);
  StageTimes operator-(const StageTimes& other) const;
};

// The clock of one thread. Only that thread may call attach(), lap() and image_done(); any thread
// may call times().
class StageClock {
 public:
  // Records the laps of the calling thread from now on. The clock must outlive the thread.
  void attach();
  StageTimes times() const;

  void lap(Stage stage);
  void image_done(int64_t bytes);

  static inline constinit thread_local StageClock* here = nullptr;  // clock of the calling thread

 private:
  std::array<std::atomic<int64_t>, kStages> nanoseconds_{};
  std::atomic<int64_t> cpu_nanoseconds_{0}, bytes_{0}, images_{0};
  int64_t last_ = 0;
};

// Adds the time since the last lap of the calling thread to `stage`.
inline void lap(Stage stage) {
  if (StageClock* clock = StageClock::here) clock->lap(stage);
}
// Counts one image whose encoded size is `bytes`, and updates the CPU time of the calling thread.
inline void image_done(int64_t bytes) {
  if (StageClock* clock = StageClock::here) clock->image_done(bytes);
}

}  // namespace shoal::data
