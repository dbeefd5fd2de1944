// Computes how much memory the fused kernels need and how they divide their work.

#include <algorithm>

#include "ops/fused/fused.h"

namespace shoal::ops::fused {
namespace {

// Limits in bytes, for the caches of a core: one tile; the ring buffers of a depthwise block; the
// band of a dense convolution.
constexpr int64_t kTileBytes = 200'000;
constexpr int64_t kForwardRing = 300'000, kBackwardRing = 700'000;
constexpr int64_t kBandBytes = 250'000;
constexpr int64_t kRingMargin = 40;  // columns, for padding and rounding

int64_t depth_of(const Stem& op) {
  return op.kernel * op.kernel * op.in;
}

int64_t input_columns(const Depthwise& op) {
  return std::max(op.width, op.stride * op.out_width) + kRingMargin;
}

// Depthwise backward has three ring buffers: input, slopes and dy (depthwise_backward_loops.h).
// Returns an upper limit for the total number of columns of the three.
int64_t all_columns(const Depthwise& op) {
  return input_columns(op) + op.width + std::max(op.width, op.out_width) + kRingMargin;
}

int64_t block_of(const Depthwise& op, int64_t columns, int64_t bytes) {
  const int64_t channels = padded(op.channels);
  const int64_t each = columns * op.kernel * static_cast<int64_t>(sizeof(float));
  const int64_t most = std::max<int64_t>(bytes / each / kPadding * kPadding, kPadding);
  return padded(chunks(channels, chunks(channels, most)));
}

// Upper limits for the number of pixels in the bands of dense_loops.h and dense_backward_loops.h.
int64_t input_band(const Dense& op) {
  const int64_t columns = std::max(op.left + op.width, (op.out_width - 1) * op.stride + op.kernel);
  return ((op.rows - 1) * op.stride + op.kernel) * columns;
}
int64_t gradient_band(const Dense& op) {
  const int64_t columns = op.width / op.stride + op.out_width + op.kernel;
  return ((op.input_rows + op.kernel) / op.stride + 2) * columns;
}

// Returns how many of `all` rows to process together. Each row needs `bytes`, and `more` further
// rows must be loaded with them.
int64_t rows_of(int64_t all, int64_t bytes, int64_t more) {
  const int64_t most = std::clamp<int64_t>(kBandBytes / bytes - more, 1, all);
  return chunks(all, chunks(all, most));
}

}  // namespace

void Needs::include(const Needs& other) {
  scratch = std::max(scratch, other.scratch);
  sums = std::max(sums, other.sums);
  d_weights = std::max(d_weights, other.d_weights);
}

Needs forward_needs(const Pointwise& op) {
  const int64_t in = padded(op.in), out = padded(op.out);
  return {2 * out + op.tile * in, 2 * out, 0};
}

Needs forward_needs(const Depthwise& op) {
  const int64_t channels = padded(op.channels);
  return {2 * channels + (op.block * op.kernel + kPadding) * input_columns(op), 2 * channels, 0};
}

void choose_rows(Dense& op) {
  const auto bytes = [](int64_t pixels, int64_t channels) {
    return pixels * padded(channels) * static_cast<int64_t>(sizeof(float));
  };
  op.rows = rows_of(op.out_height, op.stride * bytes(op.width, op.in), op.kernel / op.stride);
  op.input_rows = rows_of(op.height, bytes(op.width, op.in) + bytes(op.out_width, op.out), 1);
}

Needs forward_needs(const Dense& op) {
  const int64_t out = padded(op.out);
  return {2 * out + padded(2 * op.rows * op.out_width) + input_band(op) * padded(op.in), 2 * out,
          0};
}

Needs backward_needs(const Dense& op) {
  const int64_t in = padded(op.in), out = padded(op.out), pixels = op.input_rows * op.width;
  const int64_t weights = padded(2 * op.rows * op.out_width) + 2 * input_band(op) * in +
                          (op.rows + 1) * (op.out_width + 1) * out;
  const int64_t input = 2 * in + 2 * padded(2 * pixels) + pixels * in + gradient_band(op) * out;
  return {std::max(weights, input) + kPadding, 2 * in, op.kernel * op.kernel * in * out};
}

Needs forward_needs(const MaxPool& op) {
  return {2 * padded(op.channels) + 2 * op.height * op.width * kPadding, 0, 0};
}

Needs backward_needs(const MaxPool& op) {
  Needs needs = forward_needs(op);
  needs.sums = 2 * padded(op.channels);
  return needs;
}

Needs forward_needs(const Stem& op) {
  const int64_t out = padded(op.out);
  return {2 * out + op.out_width * padded(depth_of(op) + kPadding), 2 * out, 0};
}

Needs backward_needs(const Pointwise& op) {
  const int64_t in = padded(op.in), out = padded(op.out);
  return {7 * in + op.tile * (out + 3 * in), 2 * in, in * out};
}

Needs backward_needs(const Depthwise& op) {
  const int64_t channels = padded(op.channels);
  return {2 * channels + (op.block * op.kernel + kPadding) * all_columns(op), 2 * channels,
          op.kernel * op.kernel * channels};
}

Needs backward_needs(const Stem& op) {
  const int64_t depth = depth_of(op), out = padded(op.out);
  return {op.out_width * (padded(depth + kPadding) + out), 0, padded(depth) * out};
}

Needs backward_needs(const Join& op) {
  return {2 * padded(op.channels), 2 * padded(op.channels), 0};
}

Needs backward_needs(const Pool& op) {
  return {0, 2 * padded(op.channels), 0};
}

int64_t tile_rows(int64_t in, int64_t out) {
  const int64_t widest = padded(std::max(in, out)) * static_cast<int64_t>(sizeof(float));
  return std::clamp<int64_t>(kTileBytes / widest / 48 * 48, 48, 192);
}

int64_t forward_block(const Depthwise& op) {
  return block_of(op, input_columns(op) - kRingMargin, kForwardRing);
}

int64_t backward_block(const Depthwise& op) {
  return block_of(op, all_columns(op) - 2 * kRingMargin, kBackwardRing);
}

}  // namespace shoal::ops::fused
