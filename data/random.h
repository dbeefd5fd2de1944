#pragma once
// Keyed random numbers: every draw is a pure function of (purpose, seed, epoch, index), so the
// number of workers, their timing and the world size cannot change it. The values must never
// change, because a later version of shoal may resume an epoch (tests/data/random_test.cpp checks
// the first values).

#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/hash.h"

namespace shoal::data {

// What a key is used for. Keys of different purposes are independent.
enum class Purpose : uint64_t {
  sample = 1,
  order = 2,
  pair = 3,
  crop = 4,
  erase = 5,
  image = 6,
  chunk = 7,
  augment = 8,
  filter = 9,
  repetition = 10,
  mix_per_step = 11,
  size = 12,
  shuffle = 13,
  vertical_flip = 14,
  portion = 15,
  balance = 16
};

constexpr uint64_t make_key(Purpose purpose, uint64_t seed, uint64_t epoch, uint64_t index) {
  return combine(combine(combine(static_cast<uint64_t>(purpose), seed), epoch), index);
}

// Returns the key of one image in one epoch. All draws that concern only this image derive from it.
constexpr uint64_t sample_key(uint64_t seed, int64_t epoch, int64_t sample) {
  return make_key(Purpose::sample, seed, static_cast<uint64_t>(epoch),
                  static_cast<uint64_t>(sample));
}

// The sequence of draws from one key. The i-th 64-bit value is a function of (key, i).
class KeyedRandom {
 public:
  constexpr explicit KeyedRandom(uint64_t key) : state_(key) {}

  constexpr uint64_t next() { return mix_bits(state_ += kGolden); }

  // Uniform in [0, 1), with 53 random bits.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  constexpr double uniform(double low, double high) { return low + (high - low) * uniform(); }

  // Uniform in [0, bound), without bias (Lemire 2019). bound > 0.
  constexpr uint64_t below(uint64_t bound) {
    unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
    if (static_cast<uint64_t>(product) < bound) {
      const uint64_t threshold = (0 - bound) % bound;
      while (static_cast<uint64_t>(product) < threshold)
        product = static_cast<unsigned __int128>(next()) * bound;
    }
    return static_cast<uint64_t>(product >> 64);
  }

  // Standard normal variate (Box and Muller).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

  // Logarithm of a Gamma(shape, 1) variate (Marsaglia and Tsang 2000). The variate itself can be
  // smaller than the smallest double.
  double log_gamma_variate(double shape) {
    if (shape < 1) return log_gamma_variate(shape + 1) + std::log(1 - uniform()) / shape;
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double x = normal();
      const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
      if (v <= 0) continue;
      if (std::log(1 - uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
        return std::log(d * v);
    }
  }

  // Beta(alpha, alpha) variate, in [0, 1]. alpha > 0.
  double beta(double alpha) {
    const double a = log_gamma_variate(alpha), b = log_gamma_variate(alpha);
    return 1 / (1 + std::exp(b - a));
  }

 private:
  uint64_t state_;
};

}  // namespace shoal::data
