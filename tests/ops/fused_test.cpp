// The fused kernels of each instruction set against the portable ones in float32.
// models/fused_step_test.cpp compares the step with the reference executor.

#include "ops/fused/fused.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "base/processor.h"

using namespace shoal::ops::fused;
using shoal::ops::Activation;

namespace {

std::mt19937 generator;

// 64-byte aligned random numbers from [low, high); a multiple of `channels` values per row, whose
// padding is 0.
class Values {
 public:
  Values(int64_t rows, int64_t channels, float low = -1, float high = 1)
      : size_(rows * padded(channels)), memory_(static_cast<size_t>(size_) + 16) {
    std::uniform_real_distribution<float> draw(low, high);
    for (int64_t i = 0; i < size_; ++i)
      if (i % padded(channels) < channels) data()[i] = draw(generator);
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

// bfloat16 as the kernels store it: rounded to nearest, ties to even.
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

// Like Values, rounded to bfloat16, in the type of `storage`.
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
  loop(op, 0, items / 2, scratch);  // in two parts, as two threads
  loop(op, items / 2, items, scratch);
  CHECK(std::count(guard, guard + kGuarded, kGuard) == kGuarded);
  return {written.copy(), sums, d_weights.copy()};
}

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

// An instruction set, and how far it may be from the portable loops in float32, relatively.
struct Set {
  const Loops* loops;
  Storage storage;
  double limit;
};

constexpr double kFloatLimit = 1e-5;  // order of sums
constexpr double kHalfLimit = 8e-3;   // rounding of what the kernels store, 2^-9 each
constexpr double kDotLimit = 1e-2;    // and of the operands

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

const Set kPortable{&portable::kLoops, Storage::f32, 0};

Packed packed_by(const Loops& loops, Values& weights, int64_t depth, int64_t width, Values& to) {
  loops.pack(weights, padded(width), 1, depth, width, 0, loops.panels(width), to);
  return {to, depth, padded(width)};
}

Packed pointwise_packed_by(const Loops& loops, Values& weights, int64_t depth, int64_t width,
                           Values& to) {
  return pack_pointwise(loops, weights, padded(width), 1, depth, width, to);
}

// Runs forward and backward of a 1×1 convolution of 37 pixels of 3 images.
std::vector<Output> pointwise_outputs(const Set& set, int64_t in, int64_t out, bool squeezes,
                                      Activation activation) {
  const int64_t images = 3, pixels = 37, squeezed = 5;
  generator.seed(1);
  const Loops& loops = *set.loops;
  const Storage storage = set.storage;
  Values weights(in, out), back(out, in), memory(in, out), back_memory(out, in);
  Activations x(storage, images * pixels, in), y(storage, images * pixels, out, 0, 0.001f),
      u(storage, images * pixels, out), dx(storage, images * pixels, in, 0, 0.001f);
  NormValues before(in), after(out);
  Values weight1(padded(squeezed), in), weight2(padded(squeezed), in), bias1(1, squeezed),
      bias2(1, in), wide(4 * images, in), narrow(3 * images, squeezed), mask(1, images);
  Squeeze s;
  s.squeezed = squeezed;
  s.weight1 = weight1, s.weight2 = weight2, s.bias1 = bias1, s.bias2 = bias2;
  const int64_t row = images * padded(in), small = images * padded(squeezed);
  s.pooled = wide, s.gate = wide + row, s.d_excited = wide + 2 * row, s.spread = wide + 3 * row;
  s.hidden = narrow, s.squeezed_values = narrow + small, s.d_hidden = narrow + 2 * small;
  Pointwise op{};
  op.images = images;
  op.pixels = pixels;
  op.in = in;
  op.out = out;
  op.input = {x, &before.norm, activation, squeezes ? s.gate : nullptr};
  if (squeezes) op.squeeze = &s;
  op.tile = 16;
  op.wide = out > in;
  op.y = y;
  op.streams = out % 3 == 0;
  op.weights = pointwise_packed_by(loops, weights, in, out, memory);
  std::vector<Output> outputs{output_of(loops.pointwise, op, item_count(op), forward_needs(op), y)};
  op.weights = pointwise_packed_by(loops, back, out, in, back_memory);
  op.dy = {y, &after.norm, Activation::none, u, mask};
  op.dx = {dx, false};
  outputs.push_back(
      output_of(loops.pointwise_backward, op, item_count(op), backward_needs(op), dx));
  if (squeezes) outputs.push_back({wide.copy(), {}, narrow.copy()});
  return outputs;
}

std::vector<Output> depthwise_outputs(const Set& set, int64_t kernel, int64_t stride, int64_t width,
                                      bool deferred) {
  const int64_t images = 2, channels = 45, height = 11;
  generator.seed(2);
  Depthwise op{};
  op.images = images;
  op.height = height;
  op.width = width;
  op.out_height = chunks(height, stride);
  op.out_width = chunks(width, stride);
  op.channels = channels;
  op.kernel = kernel;
  op.stride = stride;
  op.top = kernel / 2;
  op.left = (kernel - stride) / 2;
  op.block = 32;
  const Loops& loops = *set.loops;
  Values weights(kernel * kernel, channels), gate(images, channels), spread(images, channels);
  Activations x(set.storage, images * height * width, channels),
      y(set.storage, images * op.out_height * op.out_width, channels, 0, 0.001f),
      u(set.storage, images * op.out_height * op.out_width, channels),
      dx(set.storage, images * height * width, channels, 0, 0.001f);
  NormValues before(channels), after(channels);
  op.input = {x, deferred ? &before.norm : nullptr, deferred ? Activation::silu : Activation::none,
              nullptr};
  op.weights = weights;
  op.y = y;
  const int64_t items = images * chunks(padded(channels), op.block);
  std::vector<Output> outputs{output_of(loops.depthwise, op, items, forward_needs(op), y)};
  op.dy = {y, &after.norm, Activation::relu6, u, nullptr, gate, spread};
  op.dx = {dx, !deferred};
  outputs.push_back(output_of(loops.depthwise_backward, op, items, backward_needs(op), dx));
  return outputs;
}

std::vector<Output> dense_outputs(const Set& set, int64_t kernel, int64_t stride, int64_t in,
                                  int64_t out, bool deferred) {
  const int64_t images = 2, height = 9, width = 11, taps = kernel * kernel;
  generator.seed(4);
  Dense op{};
  op.images = images;
  op.height = height;
  op.width = width;
  op.out_height = chunks(height, stride);
  op.out_width = chunks(width, stride);
  op.in = in;
  op.out = out;
  op.kernel = kernel;
  op.stride = stride;
  op.top = kernel / 2;
  op.left = (kernel - 1) / 2;
  op.rows = 2;
  op.input_rows = 4;
  const int64_t outputs = images * op.out_height * op.out_width;
  Values weights(1, out * taps * in), packed(taps * padded(in), out);
  Activations x(set.storage, images * height * width, in), y(set.storage, outputs, out, 0, 0.001f),
      u(set.storage, outputs, out), dx(set.storage, images * height * width, in, 0, 0.001f);
  NormValues before(in), after(out);
  op.input = {x, deferred ? &before.norm : nullptr, deferred ? Activation::silu : Activation::none,
              nullptr};
  op.y = y;
  const Loops& loops = *set.loops;
  op.weights = pack_dense(op, weights, false, loops, packed);
  const int64_t items = images * chunks(op.out_height, op.rows);
  std::vector<Output> outputs_of{output_of(loops.dense, op, items, forward_needs(op), y)};
  op.dy = {y, &after.norm, Activation::none, u};
  op.dx = {dx, !deferred};
  Needs needs = backward_needs(op);
  outputs_of.push_back(output_of(loops.dense_weight_gradient, op, items, needs, y));
  op.weights = pack_dense(op, weights, true, loops, packed);
  needs.d_weights = 0;
  const int64_t input_items = images * chunks(height, op.input_rows);
  outputs_of.push_back(output_of(loops.dense_input_gradient, op, input_items, needs, dx));
  return outputs_of;
}

std::vector<Output> max_pool_outputs(const Set& set) {
  const int64_t images = 2, channels = 21;
  generator.seed(5);
  MaxPool op{};
  op.images = images;
  op.height = 9;
  op.width = 12;
  op.out_height = 5;
  op.out_width = 6;
  op.channels = channels;
  op.kernel = 3;
  op.stride = 2;
  op.padding = 1;
  Activations x(set.storage, images * 108, channels),
      y(set.storage, images * 30, channels, 0, 0.1f), dy(set.storage, images * 30, channels),
      dx(set.storage, images * 108, channels, 0, 0.001f);
  NormValues before(channels);
  op.input = {x, &before.norm, Activation::relu};
  op.y = y;
  op.dy = dy;
  op.dx = {dx};
  std::vector<Output> outputs{
      output_of(set.loops->max_pool, op, images, forward_needs(op), y),
      output_of(set.loops->max_pool_backward, op, images, backward_needs(op), dx)};
  return outputs;
}

std::vector<Output> stem_outputs(const Set& set) {
  const int64_t images = 2, out = 21;
  generator.seed(3);
  Stem op{};
  op.images = images;
  op.height = 9;
  op.width = 14;
  op.out_height = 5;
  op.out_width = 7;
  op.in = 3;
  op.out = out;
  op.kernel = 3;
  op.stride = 2;
  op.top = op.left = 1;
  const Loops& loops = *set.loops;
  Values weights(27, out), memory(27, out), spread(images, out);
  Activations x(set.storage, 1, images * 9 * 14 * 3), y(set.storage, images * 35, out, 0, 0.001f);
  NormValues after(out);
  op.x = x;
  op.weights = packed_by(loops, weights, 27, out, memory);
  op.y = y;
  std::vector<Output> outputs{output_of(loops.stem, op, images * 5, forward_needs(op), y)};
  op.dy = {y, &after.norm, Activation::silu, nullptr, nullptr, nullptr, spread};
  outputs.push_back(output_of(loops.stem_backward, op, images * 5, backward_needs(op), y));
  outputs.back().d_weights.resize(static_cast<size_t>(27 * padded(out)));  // the rest is padding
  return outputs;
}

void compare(const std::vector<Output>& got, const std::vector<Output>& want, double limit) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) check_equal(got[i], want[i], limit);
}

}  // namespace

TEST_CASE("the fused 1×1 convolutions of all instruction sets agree") {
  constexpr int64_t kSizes[][2] = {{24, 144}, {144, 24}, {7, 19}, {64, 40}, {33, 112}, {130, 64}};
  for (const Set& set : instruction_sets()) {
    for (const auto& [in, out] : kSizes) {
      for (const bool squeezes : {false, true}) {
        CAPTURE(set.loops->name, in, out, squeezes);
        const Activation activation = squeezes ? Activation::silu : Activation::relu6;
        compare(pointwise_outputs(set, in, out, squeezes, activation),
                pointwise_outputs(kPortable, in, out, squeezes, activation), set.limit);
      }
    }
  }
}

TEST_CASE("the fused depthwise convolutions of all instruction sets agree") {
  for (const Set& set : instruction_sets()) {
    for (const int64_t kernel : {3, 5}) {
      for (const int64_t stride : {1, 2}) {
        for (const int64_t width : {3, 14, 23}) {
          CAPTURE(set.loops->name, kernel, stride, width);
          for (const bool deferred : {false, true})
            compare(depthwise_outputs(set, kernel, stride, width, deferred),
                    depthwise_outputs(kPortable, kernel, stride, width, deferred), set.limit);
        }
      }
    }
  }
}

TEST_CASE("the fused dense convolutions of all instruction sets agree") {
  constexpr int64_t kSizes[][2] = {{24, 64}, {7, 19}, {40, 112}, {64, 48}};
  for (const Set& set : instruction_sets()) {
    for (const int64_t kernel : {1, 3, 4}) {
      for (const int64_t stride : {1, 2}) {
        for (const auto& [in, out] : kSizes) {
          CAPTURE(set.loops->name, kernel, stride, in, out);
          for (const bool deferred : {false, true})
            compare(dense_outputs(set, kernel, stride, in, out, deferred),
                    dense_outputs(kPortable, kernel, stride, in, out, deferred), set.limit);
        }
      }
    }
  }
}

TEST_CASE("the fused maximum pooling of all instruction sets agrees") {
  for (const Set& set : instruction_sets()) {
    CAPTURE(set.loops->name);
    compare(max_pool_outputs(set), max_pool_outputs(kPortable), set.limit);
  }
}

TEST_CASE("the fused convolutions of images of all instruction sets agree") {
  for (const Set& set : instruction_sets()) {
    CAPTURE(set.loops->name);
    compare(stem_outputs(set), stem_outputs(kPortable), set.limit);
  }
}
