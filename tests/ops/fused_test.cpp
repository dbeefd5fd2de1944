// Compares the fused kernels of each instruction set with the portable ones in float32.
// models/fused_step_test.cpp compares the whole step with the reference executor.

#include "tests/ops/fused_support.h"

using namespace shoal::ops::fused;
using shoal::ops::Activation;

namespace {

Packed packed_by(const Loops& loops, Values& weights, int64_t depth, int64_t width, Values& to) {
  loops.pack(weights, padded(width), 1, depth, width, 0, loops.panels(width), to);
  return {to, depth, padded(width)};
}

Packed pointwise_packed_by(const Loops& loops, Values& weights, int64_t depth, int64_t width,
                           Values& to) {
  return pack_pointwise(loops, weights, padded(width), 1, depth, width, to);
}

// Runs forward and backward of a 1×1 convolution on 3 images of 37 pixels.
std::vector<Output> pointwise_outputs(const Set& set, int64_t in, int64_t out, bool squeezes,
                                      Activation activation) {
  const int64_t images = 3, pixels = 37, squeezed = 5;
  seed_random(1);
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
  seed_random(2);
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

struct DenseCase {
  int64_t kernel, stride, in, out;
  bool deferred = false;
  int64_t images = 2, height = 9, width = 11;
  ItemSize item{2, 1}, input_item{4, 1};
  bool winograd = false;
};

std::vector<Output> dense_outputs(const Set& set, const DenseCase& c) {
  const int64_t taps = c.kernel * c.kernel, images = c.images;
  seed_random(4);
  Dense op{};
  op.images = images;
  op.height = c.height;
  op.width = c.width;
  op.out_height = chunks(c.height, c.stride);
  op.out_width = chunks(c.width, c.stride);
  op.in = c.in;
  op.out = c.out;
  op.kernel = c.kernel;
  op.stride = c.stride;
  op.top = c.kernel / 2;
  op.left = (c.kernel - 1) / 2;
  op.winograd = c.winograd && set.loops->together == 1;
  op.item = c.item;
  op.input_item = c.input_item;
  const int64_t outputs = images * op.out_height * op.out_width;
  const int64_t inputs = images * c.height * c.width;
  Values weights(1, c.out * taps * c.in), mask(1, images);
  Activations x(set.storage, inputs, c.in), y(set.storage, outputs, c.out, 0, 0.001f),
      u(set.storage, outputs, c.out), dx(set.storage, inputs, c.in, 0, 0.001f);
  NormValues before(c.in), after(c.out);
  Values packed(1, packed_floats(op));  // last, so that its size changes no other random values
  op.input = {x, c.deferred ? &before.norm : nullptr,
              c.deferred ? Activation::silu : Activation::none, nullptr};
  op.y = y;
  const Loops& loops = *set.loops;
  op.weights = pack_dense(op, weights, false, loops, packed);
  const int64_t items = item_count(images, op.out_height, op.item);
  std::vector<Output> outputs_of{output_of(loops.dense, op, items, forward_needs(op), y)};
  op.dy = {y, &after.norm, Activation::none, u, mask};
  op.dx = {dx, !c.deferred};
  Needs needs = backward_needs(op);
  outputs_of.push_back(output_of(loops.dense_weight_gradient, op, items, needs, y));
  op.weights = pack_dense(op, weights, true, loops, packed);
  needs.d_weights = 0;
  const int64_t input_items = item_count(images, read_pixels(op).height, op.input_item);
  outputs_of.push_back(output_of(loops.dense_input_gradient, op, input_items, needs, dx));
  return outputs_of;
}

std::vector<Output> max_pool_outputs(const Set& set) {
  const int64_t images = 2, channels = 21;
  seed_random(5);
  MaxPool op{};
  op.images = images;
  op.height = 9;
  op.width = 12;
  op.out_height = 5;
  op.out_width = 6;
  op.channels = channels;
  op.kernel = 3;
  op.stride = 2;
  op.top = op.left = 1;
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
  seed_random(3);
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

}  // namespace

TEST_CASE("the fused 1×1 convolutions of all instruction sets agree") {
  constexpr int64_t kSizes[][2] = {{24, 144}, {144, 24}, {7, 19}, {64, 40}, {33, 112}, {130, 64}};
  for (const auto& [in, out] : kSizes) {
    for (const bool squeezes : {false, true}) {
      const Activation activation = squeezes ? Activation::silu : Activation::relu6;
      const auto want = pointwise_outputs(kPortable, in, out, squeezes, activation);
      for (const Set& set : instruction_sets()) {
        CAPTURE(set.loops->name, in, out, squeezes);
        compare(pointwise_outputs(set, in, out, squeezes, activation), want, set.limit);
      }
    }
  }
}

TEST_CASE("the fused depthwise convolutions of all instruction sets agree") {
  for (const int64_t kernel : {3, 5}) {
    for (const int64_t stride : {1, 2}) {
      for (const int64_t width : {3, 14, 23}) {
        for (const bool deferred : {false, true}) {
          const auto want = depthwise_outputs(kPortable, kernel, stride, width, deferred);
          for (const Set& set : instruction_sets()) {
            CAPTURE(set.loops->name, kernel, stride, width);
            compare(depthwise_outputs(set, kernel, stride, width, deferred), want, set.limit);
          }
        }
      }
    }
  }
}

TEST_CASE("the fused dense convolutions of all instruction sets agree") {
  constexpr int64_t kSizes[][2] = {{24, 64}, {7, 19}, {40, 112}, {64, 48}};
  for (const int64_t kernel : {1, 3, 4}) {
    for (const int64_t stride : {1, 2}) {
      for (const auto& [in, out] : kSizes) {
        for (const bool deferred : {false, true}) {
          const DenseCase c{kernel, stride, in, out, deferred};
          const std::vector<Output> want = dense_outputs(kPortable, c);
          for (const Set& set : instruction_sets()) {
            CAPTURE(set.loops->name, kernel, stride, in, out);
            compare(dense_outputs(set, c), want, set.limit);
          }
        }
      }
    }
  }
}

TEST_CASE("the fused dense convolutions do not depend on how many images an item has") {
  for (const Set& set : instruction_sets()) {
    for (const int64_t kernel : {1, 3}) {
      for (const int64_t stride : {1, 2}) {
        CAPTURE(set.loops->name, kernel, stride);
        DenseCase c{kernel, stride, 24, 40, true, 5};
        const std::vector<Output> want = dense_outputs(kPortable, c);
        c.item = {chunks(c.height, stride), 2};
        c.input_item = {kernel > 1 ? c.height : c.item.rows, 3};
        compare(dense_outputs(set, c), want, set.limit);
      }
    }
  }
}

// Winograd's algorithm rounds more often than direct convolution. Its relative error is about 1e-6,
// so the usual limit (`set.limit`) is enough here too.
TEST_CASE("the fused dense convolutions agree with Winograd's algorithm") {
  constexpr int64_t kChannels[][2] = {{32, 48}, {40, 64}, {64, 33}, {17, 130}};
  for (const int64_t size : {5, 7, 8, 13, 14}) {
    for (const auto& [in, out] : kChannels) {
      const DenseCase direct{3, 1, in, out, size % 2 == 0, 5, size, size + size % 3};
      const std::vector<Output> want = dense_outputs(kPortable, direct);
      for (const Set& set : instruction_sets()) {
        CAPTURE(set.loops->name, size, in, out);
        DenseCase c = direct;
        c.winograd = true;
        compare(dense_outputs(set, c), want, set.limit);
        c.item = {size, 2};
        c.input_item = {size, 4};
        compare(dense_outputs(set, c), want, set.limit);
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
