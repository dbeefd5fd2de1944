// Computes how much memory the fused kernels need and how they divide their work.

#include <algorithm>

#include "ops/fused/fused.h"

namespace shoal::ops::fused {
namespace {

// Sizes in bytes that fit into the caches of a core: kTileBytes for a tile of a Pointwise,
// kForwardRing and kBackwardRing for the ring buffers of a Depthwise block, and kBandBytes for the
// band of a Dense.
constexpr int64_t kTileBytes = 200'000;
constexpr int64_t kForwardRing = 300'000, kBackwardRing = 700'000;
constexpr int64_t kBandBytes = 250'000;
// If the weight gradient of a Pointwise has at least this many bytes, its minimum tile is larger.
constexpr int64_t kLargeGradient = 1'000'000;
// A work item of Dense with at most kItemPixels pixels may take kItemBytes instead of kBandBytes,
// and may contain several images.
constexpr int64_t kItemPixels = 200, kItemBytes = 700'000;
// With Winograd's algorithm, a work item of at most kWinogradTiles tiles may take this many bytes.
constexpr int64_t kWinogradBytes = 1'500'000;
// Winograd's algorithm is used only for at least kWinogradChannels input and output channels, and
// for at most kWinogradWeights weights per kernel position (input channels * output channels).
constexpr int64_t kWinogradChannels = 16, kWinogradWeights = 512 * 512;
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

// Returns the number of pixels in the band of winograd_loops.h. `least_width`: minimum number of
// columns; `width`: outputs in a row.
int64_t winograd_band(const ItemSize& item, int64_t least_width, int64_t width) {
  return item.images * (tiled(item.rows) + 2) * std::max(least_width, tiled(width) + 2);
}

// Returns the number of floats in the matrices of winograd_loops.h for one block of tiles. Each
// element of a transformed tile has two matrices: one for the inputs, one for the products or
// gradients. `columns`: sum of the columns of both matrices. `width`: outputs per row.
int64_t winograd_floats(const ItemSize& item, int64_t width, int64_t columns) {
  const int64_t tiles =
      item.images * tiled(item.rows) * tiled(width) / (kWinogradTile * kWinogradTile);
  return kWinogradMatrices * (std::min(tiles, kWinogradTiles) * columns + 2 * kPadding);
}
constexpr int64_t kWinogradPanel = 64;  // maximum number of columns of a product matrix

// Upper limits for the number of pixels in the bands of dense_loops.h and dense_backward_loops.h.
// `op` must be a result of read_pixels() (kernels.h).
int64_t input_band(const Dense& op) {
  if (op.winograd) return winograd_band(op.item, op.left + op.width, op.out_width);
  const int64_t columns = std::max(op.left + op.width, (op.out_width - 1) * op.stride + op.kernel);
  return op.item.images * ((op.item.rows - 1) * op.stride + op.kernel) * columns;
}
int64_t gradient_band(const Dense& op) {
  if (op.winograd) return winograd_band(op.input_item, 2 + op.out_width, op.width);
  const int64_t columns = op.width / op.stride + op.out_width + op.kernel;
  return op.input_item.images * ((op.input_item.rows + op.kernel) / op.stride + 2) * columns;
}

int64_t winograd_gradient_floats(const Dense& op) {
  if (!op.winograd) return 0;
  const int64_t in = padded(op.in), columns = winograd_columns(op);
  return kWinogradMatrices * in * columns + input_band(op) * in +
         op.item.images * tiled(op.item.rows) * tiled(op.out_width) * columns +
         winograd_floats(op.item, op.out_width, in + columns);
}

// The rows that Dense computes, and the memory that they need.
struct ItemShape {
  int64_t images, height, width;  // number of images, rows per image, pixels per row
  int64_t bytes, more;            // bytes per row; number of additional rows that must be loaded
  bool tiles;                     // computed in tiles of kWinogradTile rows and columns
};

// Returns the size of a work item. All threads get about the same number of images.
ItemSize item_of(const ItemShape& s, int threads) {
  const int64_t step = s.tiles ? kWinogradTile : 1;
  const int64_t height = chunks(s.height, step), width = chunks(s.width, step);  // in steps
  const int64_t enough = s.tiles ? kWinogradTiles : kItemPixels;
  const int64_t most_bytes = s.tiles ? kWinogradBytes : kItemBytes;
  const int64_t few = std::min(enough / width, (most_bytes / s.bytes - s.more) / step);
  const int64_t most_rows =
      std::clamp<int64_t>(std::max((kBandBytes / s.bytes - s.more) / step, few), 1, height);
  const int64_t rows = std::min(chunks(height, chunks(height, most_rows)) * step, s.height);
  if (rows < s.height) return {rows, 1};
  const int64_t most_images = std::max<int64_t>(
      std::min(most_bytes / (s.bytes * (s.height + s.more)), enough / (height * width)), 1);
  return {rows, chunks(s.images, threads * chunks(chunks(s.images, threads), most_images))};
}

// Whether to use Winograd's algorithm. It must save at least half of the multiplications, which is
// not the case if too many tiles are partial. The number of images must not matter: otherwise an
// image's output would depend on the batch.
bool suits_winograd(const Dense& op) {
  if (op.kernel != 3 || op.stride != 1 || op.top > 2 || op.left > 2) return false;
  const int64_t products = kWinogradMatrices * tiled(op.out_height) * tiled(op.out_width) /
                           (kWinogradTile * kWinogradTile);
  return 2 * products <= 9 * op.out_height * op.out_width &&
         std::min(op.in, op.out) >= kWinogradChannels &&
         padded(op.in) * padded(op.out) <= kWinogradWeights;
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

void choose_items(Dense& all, const Workspace& workspace) {
  const auto bytes = [](int64_t pixels, int64_t channels) {
    return pixels * padded(channels) * static_cast<int64_t>(sizeof(float));
  };
  all.winograd = workspace.loops().together == 1 && suits_winograd(all);
  const Dense op = read_pixels(all);
  const int threads = workspace.threads();
  all.item = item_of({op.images, op.out_height, op.out_width, op.stride * bytes(op.width, op.in),
                      op.kernel / op.stride, op.winograd},
                     threads);
  all.input_item = item_of({op.images, op.height, op.width,
                            bytes(op.width, op.in) + bytes(op.out_width, op.out), 1, op.winograd},
                           threads);
}

Needs forward_needs(const Dense& all) {
  const Dense op = read_pixels(all);
  const int64_t out = padded(op.out);
  return {2 * out + padded(2 * most_pixels(op.item, op.out_width)) +
              input_band(op) * padded(op.in) +
              (op.winograd ? winograd_floats(op.item, op.out_width, padded(op.in) + kWinogradPanel)
                           : 0),
          2 * out, 0};
}

Needs backward_needs(const Dense& all) {
  const Dense op = read_pixels(all);
  const int64_t in = padded(op.in), out = padded(op.out);
  const int64_t pixels = most_pixels(op.input_item, op.width);
  const int64_t weights = padded(2 * most_pixels(op.item, op.out_width)) + 2 * input_band(op) * in +
                          (op.item.images * op.item.rows + 1) * (op.out_width + 1) * out;
  const int64_t input =
      2 * in + 2 * padded(2 * pixels) + pixels * in + gradient_band(op) * out +
      (op.winograd ? winograd_floats(op.input_item, op.width, out + kWinogradPanel) : 0);
  return {std::max({weights, input, winograd_gradient_floats(op)}) + kPadding, 2 * in,
          op.kernel * op.kernel * in * out};
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

int64_t forward_tile(int64_t in, int64_t out) {
  const int64_t widest = padded(std::max(in, out)) * static_cast<int64_t>(sizeof(float));
  return std::clamp<int64_t>(kTileBytes / widest / 48 * 48, 48, 192);
}

// Each tile reads and writes the whole weight gradient. If that does not fit into the caches, a
// larger tile is faster.
int64_t backward_tile(int64_t in, int64_t out) {
  const int64_t gradient = padded(in) * padded(out) * static_cast<int64_t>(sizeof(float));
  return std::max<int64_t>(forward_tile(in, out), gradient < kLargeGradient ? 48 : 96);
}

int64_t forward_block(const Depthwise& op) {
  return block_of(op, input_columns(op) - kRingMargin, kForwardRing);
}

int64_t backward_block(const Depthwise& op) {
  return block_of(op, all_columns(op) - 2 * kRingMargin, kBackwardRing);
}

}  // namespace shoal::ops::fused
