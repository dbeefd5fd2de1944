#pragma once
// Helpers for the tests of the fused kernels: random operands, and the outputs of a kernel.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "ops/fused/fused.h"

namespace shoal::ops::fused {

void seed_random(unsigned seed);
float random_between(float low, float high);

// Random numbers from [low, high), 64-byte aligned. Each row has padded(channels) values, with
// zeros as padding.
class Values {
 public:
  Values(int64_t rows, int64_t channels, float low = -1, float high = 1)
      : size_(rows * padded(channels)), memory_(static_cast<size_t>(size_) + 16) {
    for (int64_t i = 0; i < size_; ++i)
      if (i % padded(channels) < channels) data()[i] = random_between(low, high);
  }
  float* data() {
    return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(memory_.data()) + 63) / 64 * 64);
  }
  operator float*() { return data(); }
  std::vector<float> copy() { return {data(), data() + size_}; }

 private:
  int64_t size_;
  std::vector<float> memory_;
};

// Convert to and from bfloat16 as the kernels do: upper_half() rounds to nearest, ties to even.
uint16_t upper_half(float value);
float from_half(uint16_t half);

// Like Values, but rounded to bfloat16 and stored in the type of `storage`.
class Activations {
 public:
  Activations(Storage storage, int64_t rows, int64_t channels, float low = -1, float high = 1)
      : floats_(rows, channels, low, high), size_(floats_.copy().size()), storage_(storage) {
    const std::vector<float> values = floats_.copy();
    for (size_t i = 0; i < size_; ++i) {
      const uint16_t half = upper_half(values[i]);
      storage == Storage::f32 ? void(floats_.data()[i] = from_half(half))
                              : void(halves()[i] = half);
    }
  }
  operator void*() { return floats_.data(); }
  std::vector<float> copy() {
    std::vector<float> values = floats_.copy();
    if (storage_ == Storage::bf16)
      for (size_t i = size_; i-- > 0;) values[i] = from_half(halves()[i]);
    return values;
  }

 private:
  uint16_t* halves() { return reinterpret_cast<uint16_t*>(floats_.data()); }

  Values floats_;
  size_t size_;
  Storage storage_;
};

struct NormValues {
  explicit NormValues(int64_t channels)
      : mean(1, channels),
        scale(1, channels, 0.5, 1.5),
        shift(1, channels),
        slope(1, channels),
        pull(1, channels),
        offset(1, channels),
        norm{mean, nullptr, scale, shift, slope, pull, offset} {}
  Values mean, scale, shift, slope, pull, offset;
  Norm norm;
};

// What one kernel wrote: its output, sums and weight gradient.
struct Output {
  std::vector<float> values;
  std::vector<double> sums;
  std::vector<float> d_weights;
};

// Runs `loop` over all items, and checks that it writes nothing after its scratch memory.
template <class Op>
Output output_of(void (*loop)(const Op&, int64_t, int64_t, const Scratch&), const Op& op,
                 int64_t items, const Needs& needs, Activations& written) {
  constexpr float kGuard = 7;
  constexpr int64_t kGuarded = 64;
  Values memory(1, needs.scratch + kGuarded), d_weights(1, needs.d_weights);
  float* const guard = memory + needs.scratch;
  std::fill_n(guard, kGuarded, kGuard);
  std::vector<double> sums(static_cast<size_t>(needs.sums));
  std::vector<float> zeros(static_cast<size_t>(needs.d_weights));
  std::copy(zeros.begin(), zeros.end(), d_weights.data());
  const Scratch scratch{memory, sums.data(), needs.d_weights ? d_weights.data() : nullptr};
  loop(op, 0, items / 2, scratch);  // in two parts, as two threads would do it
  loop(op, items / 2, items, scratch);
  CHECK(std::count(guard, guard + kGuarded, kGuard) == kGuarded);
  return {written.copy(), sums, d_weights.copy()};
}

// The loops of an instruction set. `limit`: maximum relative difference from the portable loops in
// float32.
struct Set {
  const Loops* loops;
  Storage storage;
  double limit;
};

// Returns the loops of all instruction sets that this processor has.
std::vector<Set> instruction_sets();

inline const Set kPortable{&portable::kLoops, Storage::f32, 0};

// Checks that the relative differences of the outputs are below `limit`.
void compare(const std::vector<Output>& got, const std::vector<Output>& want, double limit);

}  // namespace shoal::ops::fused
