#pragma once
// The kernels of the fused CPU training step. While a kernel loads its input, it applies the batch
// norm and the activation that precede it. While it stores its output, it computes the sums that
// the next batch norm needs. These sums are Σ x and Σ x²; the variance computed from them is
// accurate to 1 % if the channel's mean is below 100 standard deviations. The functions in fused.h
// run the kernels on all threads.
//
// Activations and their gradients are images×pixels×stride with stride = padded(channels). (Fields
// named `stride` are strides of convolutions, in pixels.) Their element type is given by Storage;
// pointers to them are `void*`. Everything else is float32, except the sums (double) and packed
// bfloat16 weights. Per-channel vectors have padded(channels) elements. The padding of activations
// and gradients is zero and stays zero. Memory is 64-byte aligned, except parameters and images.

#include <cstddef>
#include <cstdint>

#include "ops/ops.h"

namespace shoal::ops::fused {

// Type of activations in memory. With bf16, if the processor can multiply bfloat16 (AVX-512 BF16),
// Pointwise and Dense also round the operands of their matrix products to bfloat16. All other
// arithmetic is in float32 or double.
enum class Storage { f32, bf16 };
[[maybe_unused]] static constexpr int64_t size_of(Storage storage) {
  return storage == Storage::f32 ? 4 : 2;
}

constexpr int64_t kPadding = 16;  // channels are padded to a multiple of this
[[maybe_unused]] static constexpr int64_t padded(int64_t channels) {
  return (channels + kPadding - 1) / kPadding * kPadding;
}
// Returns all / size, rounded up.
[[maybe_unused]] static constexpr int64_t chunks(int64_t all, int64_t size) {
  return (all + size - 1) / size;
}

// Per-channel vectors of one batch norm. Forward: y = activation(x * scale + shift). Backward, with
// dz = dy * activation'(x * scale + shift): dx = slope * dz + pull * x + offset.
struct Norm {
  float *mean, *inv_std, *scale, *shift, *slope, *pull, *offset;
};

// The input of an operation. If `norm` is set, the operand is deferred: x is the raw output of a
// convolution, and the operation applies batch norm and activation while it loads x.
struct Operand {
  const void* x = nullptr;
  const Norm* norm = nullptr;
  Activation activation = Activation::none;
  const float* gate = nullptr;  // images×stride: multiplies the activated values; nullptr: 1
};

// What backward of a convolution needs to compute the gradient with respect to x, the raw output of
// the convolution. Batch norm `norm` follows the convolution.
struct Upstream {
  const void* x = nullptr;
  const Norm* norm = nullptr;
  Activation activation = Activation::none;
  // dz is the gradient with respect to z = x * scale + shift. Factors and terms that are nullptr
  // are left out.
  //   joined:    dz = u * mask * activation'(z)
  //   otherwise: dz = u * mask * gate + spread * activation'(z), where u includes activation'(z)
  const void* u = nullptr;      // images×pixels×stride; nullptr: 0
  const float* mask = nullptr;  // one factor per image
  const float* gate = nullptr;  // images×stride, of the squeeze-excite; requires `spread`
  // images×stride. Average pooling or squeeze-excite adds this to the gradient of the activated
  // values. Within a channel, it is the same for all pixels of an image.
  const float* spread = nullptr;
  bool joined = false;  // a Join with an activation follows; u: gradient of the Join's output
};

// Where backward of an operation writes the gradient of its input. For a deferred input, it writes
// u = gradient * activation'(z) and also computes the sums that the input's batch norm needs. If
// the input has a gate, `gradient` is the gradient of the gated values. Backward of the preceding
// convolution then multiplies u by the gate (Upstream::gate).
struct Downstream {
  void* u = nullptr;  // nullptr: not wanted
  bool add = false;   // adds to u instead of overwriting it; only if the input is not deferred
};

// The squeeze-excite that computes the gate of an operand. stride: padded(channels) of the operand.
// Both weight matrices are padded(squeezed)×stride.
struct Squeeze {
  int64_t squeezed = 0;
  bool hard = false;  // relu and hard sigmoid instead of silu and sigmoid
  const float *weight1 = nullptr, *weight2 = nullptr;  // weight2 is transposed
  const float *bias1 = nullptr, *bias2 = nullptr;      // padded
  float *pooled = nullptr, *gate = nullptr;            // images×stride
  // Output of the first layer before and after the activation: images×padded(squeezed).
  float *hidden = nullptr, *squeezed_values = nullptr;
  // Backward: gradient of the second layer's output before its activation, and Upstream::spread.
  // Both are images×stride.
  float *d_excited = nullptr, *spread = nullptr;
  float* d_hidden = nullptr;  // gradient of `hidden`: images×padded(squeezed)
};

// A matrix in the layout that multiply() (gemm_loops.h) reads.
struct Packed {
  const float* values = nullptr;
  int64_t depth = 0, width = 0;  // depth: rows (of floats or bfloat16 pairs); width: padded columns
};

struct Pointwise {  // a 1×1 convolution with stride 1
  int64_t images, pixels, in, out;
  Operand input;
  Squeeze* squeeze = nullptr;  // the squeeze-excite that computes input.gate; nullptr: none
  Packed weights;              // from pack_pointwise(); forward: in×out; backward: out×in
  int64_t tile;                // rows that are processed together
  bool streams = false;        // non-temporal stores for y (backward: dx.u)
  void* y = nullptr;           // forward
  Upstream dy;                 // backward
  Downstream dx;
  // Set by the caller: whether out > in. Scratch::d_weights is in×padded(out) if `wide`,
  // otherwise out×padded(in).
  bool wide = false;
};
// Returns the number of rows (pixels) in a group; tiles do not cross groups. With a squeeze-excite,
// gate, mask or spread, which differ between images, a group is one image. Otherwise, all rows are
// one group.
[[maybe_unused]] static int64_t group_rows(const Pointwise& op) {
  const bool by_image = op.squeeze != nullptr || op.input.gate != nullptr ||
                        op.dy.mask != nullptr || op.dy.spread != nullptr;
  return by_image ? op.pixels : op.images * op.pixels;
}
// Returns the number of work items: images if there is a squeeze-excite, otherwise tiles.
[[maybe_unused]] static int64_t item_count(const Pointwise& op) {
  const int64_t rows = group_rows(op);
  return op.squeeze ? op.images : op.images * op.pixels / rows * chunks(rows, op.tile);
}

// The shape of an operation that slides a kernel over images.
struct Window {
  int64_t images, height, width, out_height, out_width;
  int64_t kernel, stride, top, left;  // `top`, `left`: padding above and left of the image
};

struct Depthwise : Window {  // kernel: 3 or 5; stride: 1 or 2
  int64_t channels;
  int64_t block;  // channels that are processed together
  Operand input;
  const float* weights = nullptr;  // kernel²×padded(channels)
  bool streams = false;
  void* y = nullptr;
  Upstream dy;
  Downstream dx;
};

// The size of a work item: some rows of one image (`images` is 1), or all rows of `images` images.
struct ItemSize {
  int64_t rows = 1, images = 1;
};
[[maybe_unused]] static constexpr int64_t item_count(int64_t images, int64_t height,
                                                     const ItemSize& size) {
  return chunks(images, size.images) * chunks(height, size.rows);
}
// Returns the maximum number of pixels of a work item; `width`: pixels per row.
[[maybe_unused]] static constexpr int64_t most_pixels(const ItemSize& size, int64_t width) {
  return size.images * size.rows * width;
}

// A convolution with one group. Its backward consists of two operations: dense_weight_gradient and
// dense_input_gradient.
struct Dense : Window {
  int64_t in, out;
  // Work items. `item`: rows of the output. `input_item`: rows of the input gradient, not counting
  // input rows that a 1×1 kernel skips (read_pixels()).
  ItemSize item, input_item;
  // Computes outputs and gradients with fewer multiplications (winograd_loops.h). Requires
  // a 3×3 kernel, stride 1, at most 2 zeros of padding and Loops::together == 1.
  bool winograd = false;

  Operand input;  // without a gate
  // From pack_dense: one matrix per kernel position or, if `winograd`, 36 matrices. Forward:
  // in×padded(out); backward: out×padded(in).
  Packed weights;
  bool streams = false;
  void* y = nullptr;
  Upstream dy;
  Downstream dx;
};

constexpr int64_t kWinogradTile = 4;          // outputs of a tile in one dimension
constexpr int64_t kWinogradMatrices = 36;     // one for each element of a transformed tile
constexpr int64_t kWinogradTiles = 48;        // maximum number of tiles that are computed together
constexpr int64_t kWinogradSums = 256 * 256;  // limit for padded(in) * winograd_columns(op)
// Returns the number of output channels whose weight gradients are computed together.
[[maybe_unused]] static int64_t winograd_columns(const Dense& op) {
  const int64_t most = kWinogradSums / padded(op.in) / kPadding * kPadding;
  return most < kPadding ? kPadding : most < padded(op.out) ? most : padded(op.out);
}
// Returns `size` rounded up to whole tiles.
[[maybe_unused]] static constexpr int64_t tiled(int64_t size) {
  return chunks(size, kWinogradTile) * kWinogradTile;
}

// Returns the same convolution with only those input pixels that it reads. A 1×1 kernel reads every
// stride-th row and column, so the result has this smaller input and stride 1. Other kernels read
// all pixels.
[[maybe_unused]] static Dense read_pixels(const Dense& op) {
  Dense read = op;
  if (op.kernel > 1) return read;
  read.height = op.out_height;
  read.width = op.out_width;
  read.stride = 1;
  return read;
}

// The first convolution. It reads the images, which need no gradient.
struct Stem : Window {
  int64_t in, out;
  const void* x = nullptr;  // images×height×width×in of the Storage type, not padded
  Packed weights;           // from pack(): (kernel²·in)×out
  bool streams = false;
  void* y = nullptr;
  Upstream dy;
};

// A batch norm that stores its output, usually with a skip connection. Let z = x * scale + shift.
// Forward: y = activation(z) [* mask] [+ skip]. Backward: computes the batch norm's sums Σ dz and
// Σ dz * (x - mean), where dz = dy [* mask] * activation'(z). `rectified`: forward ends with
// y = max(y, 0), and backward first sets dy to 0 where y is 0.
struct Join {
  int64_t images, pixels, channels;
  Activation activation = Activation::none;
  bool rectified = false;
  const void* x;
  const Norm* norm;
  const float* mask = nullptr;  // one factor per image
  const void* skip = nullptr;
  void* y = nullptr;
  void* dy = nullptr;
};

// The mean over the pixels of each image. Backward reads `spread`, the gradient of the values that
// are averaged: one number per image and channel, the same for all pixels. If `input` is deferred,
// backward only computes the batch norm's sums Σ dz and Σ dz * (x - mean), where
// z = x * scale + shift and dz = spread * activation'(z). Otherwise, it writes dx.u = spread.
struct Pool {
  int64_t images, pixels, channels;
  Operand input;
  float* y = nullptr;             // images×stride
  const float* spread = nullptr;  // images×stride
  Downstream dx;
};

// The maximum of each window. Backward passes the gradient to the first element of the window that
// equals the maximum.
struct MaxPool : Window {
  int64_t channels;
  Operand input;  // deferred
  void* y = nullptr;
  const void* dy = nullptr;
  Downstream dx;
};

// The memory of one thread. The loops add to `sums` and `d_weights`.
struct Scratch {
  float* memory;     // Needs::scratch floats (fused.h)
  double* sums;      // 2×stride; forward: for the next batch norm, backward: for the previous one
  float* d_weights;  // the weight gradient; nullptr: not wanted
};

// The loops compiled for one instruction set. In the matrix products, `stride`, `a_stride`,
// `b_stride` and `c_stride` are the numbers of floats from one row to the next.
struct Loops {
  const char* name;  // "avx512", for example

  // Returns the number of panels of a packed matrix with `width` columns (gemm_loops.h).
  int64_t (*panels)(int64_t width);
  // Writes panels [begin, end) of a depth×width matrix to their places in `packed`, which has
  // space for all panels of the matrix. Element (k, n) is values[k * k_step + n * n_step].
  void (*pack)(const float* values, int64_t k_step, int64_t n_step, int64_t depth, int64_t width,
               int64_t begin, int64_t end, float* packed);
  // Like pack(), for the weights of Pointwise and Dense. A packed row contains `together` rows of
  // the matrix: 2 if the products use pairs of bfloat16 (gemm_loops.h), otherwise 1.
  void (*pack_pointwise)(const float* values, int64_t k_step, int64_t n_step, int64_t depth,
                         int64_t width, int64_t begin, int64_t end, float* packed);
  int64_t together;
  // `packed`: 36 matrices of `size` floats each. Before the call, the last nine contain the weights
  // of a 3×3 Dense. Overwrites elements [begin, end) of all 36 with the transformed weights.
  // `begin` and `end` must be multiples of kPadding.
  void (*winograd_weights)(float* packed, int64_t size, int64_t begin, int64_t end);

  // c[m, n] += Σ over k of a[m, k] b[k, n], for the columns n in panels [begin, end) of b.
  void (*multiply_panels)(const float* a, int64_t stride, int64_t rows, const Packed& b,
                          int64_t begin, int64_t end, float* c, int64_t c_stride);
  // c[i, j] += Σ over m of a[m, i] b[m, j], for i < height and j < width. `width` is padded. Rounds
  // `height` up to a multiple of 4 or 8; `a` and `c` must have space for that.
  void (*multiply_transposed)(int64_t rows, const float* a, int64_t a_stride, int64_t height,
                              const float* b, int64_t b_stride, int64_t width, float* c,
                              int64_t c_stride);

  // Each computes work items [begin, end) of an operation. A Pointwise has item_count() items;
  // items() in fused.cpp returns the numbers for the other operations.
  void (*pointwise)(const Pointwise&, int64_t begin, int64_t end, const Scratch&);
  void (*pointwise_backward)(const Pointwise&, int64_t begin, int64_t end, const Scratch&);
  void (*depthwise)(const Depthwise&, int64_t begin, int64_t end, const Scratch&);
  void (*depthwise_backward)(const Depthwise&, int64_t begin, int64_t end, const Scratch&);
  void (*dense)(const Dense&, int64_t begin, int64_t end, const Scratch&);
  void (*dense_weight_gradient)(const Dense&, int64_t begin, int64_t end, const Scratch&);
  void (*dense_input_gradient)(const Dense&, int64_t begin, int64_t end, const Scratch&);
  void (*stem)(const Stem&, int64_t begin, int64_t end, const Scratch&);
  void (*stem_backward)(const Stem&, int64_t begin, int64_t end, const Scratch&);
  void (*join)(const Join&, int64_t begin, int64_t end, const Scratch&);
  void (*join_backward)(const Join&, int64_t begin, int64_t end, const Scratch&);
  void (*pool)(const Pool&, int64_t begin, int64_t end, const Scratch&);
  void (*pool_backward)(const Pool&, int64_t begin, int64_t end, const Scratch&);
  void (*max_pool)(const MaxPool&, int64_t begin, int64_t end, const Scratch&);
  void (*max_pool_backward)(const MaxPool&, int64_t begin, int64_t end, const Scratch&);

  // Computes an activation and its derivative for `count` floats, a multiple of kPadding. `values`
  // may be `z`.
  void (*activate)(Activation activation, const float* z, int64_t count, float* values,
                   float* slopes);
};

// The loops of each instruction set. The namespaces with "_bf16" are for Storage::bf16, avx512_dot
// is for Storage::bf16 on processors with AVX-512 BF16, the others are for Storage::f32.
namespace portable {
extern const Loops kLoops;
}
namespace portable_bf16 {
extern const Loops kLoops;
}
namespace avx2 {
extern const Loops kLoops;
}
namespace avx2_bf16 {
extern const Loops kLoops;
}
namespace avx512 {
extern const Loops kLoops;
}
namespace avx512_bf16 {
extern const Loops kLoops;
}
namespace avx512_dot {
extern const Loops kLoops;
}

// Returns the loops for this processor; the same on every call. Thread-safe.
const Loops& loops(Storage storage = Storage::f32);

}  // namespace shoal::ops::fused
