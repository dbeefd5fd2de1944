#include "tests/ops/fused_support.h"

#include <cmath>
#include <cstring>
#include <random>

#include "base/processor.h"

namespace shoal::ops::fused {
namespace {

std::mt19937 generator;

template <class T>
double apart(const std::vector<T>& got, const std::vector<T>& want) {
  REQUIRE(got.size() == want.size());
  double error = 0, size = 1e-30;
  for (size_t i = 0; i < got.size(); ++i) {
    error += std::pow(static_cast<double>(got[i]) - want[i], 2);
    size += std::pow(static_cast<double>(want[i]), 2);
  }
  return std::sqrt(error / size);
}

void check_equal(const Output& got, const Output& want, double limit) {
  CHECK(apart(got.values, want.values) < limit);
  CHECK(apart(got.sums, want.sums) < limit);
  CHECK(apart(got.d_weights, want.d_weights) < limit);
}

constexpr double kFloatLimit = 1e-5;  // the terms of sums are added in another order
constexpr double kHalfLimit = 8e-3;   // stored values are rounded, by up to 2^-9 each
constexpr double kDotLimit = 1e-2;    // operands are rounded, too

}  // namespace

void seed_random(unsigned seed) {
  generator.seed(seed);
}

float random_between(float low, float high) {
  return std::uniform_real_distribution<float>(low, high)(generator);
}

uint16_t upper_half(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float from_half(uint16_t half) {
  const uint32_t bits = uint32_t{half} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::vector<Set> instruction_sets() {
  std::vector<Set> sets{{&loops(), Storage::f32, kFloatLimit},
                        {&portable_bf16::kLoops, Storage::bf16, kHalfLimit}};
#if defined(__x86_64__)
  if (shoal::processor().avx2) {
    sets.push_back({&avx2::kLoops, Storage::f32, kFloatLimit});
    sets.push_back({&avx2_bf16::kLoops, Storage::bf16, kHalfLimit});
  }
  if (shoal::processor().avx512) {
    sets.push_back({&avx512::kLoops, Storage::f32, kFloatLimit});
    sets.push_back({&avx512_bf16::kLoops, Storage::bf16, kHalfLimit});
  }
  if (shoal::processor().avx512_bf16)
    sets.push_back({&avx512_dot::kLoops, Storage::bf16, kDotLimit});
#endif
  return sets;
}

void compare(const std::vector<Output>& got, const std::vector<Output>& want, double limit) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) check_equal(got[i], want[i], limit);
}

}  // namespace shoal::ops::fused
