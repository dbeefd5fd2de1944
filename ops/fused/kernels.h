#pragma once
// The kernels of the fused CPU training step. While a kernel loads its input, it applies the batch
// norm and the activation that precede it. While it stores its output, it computes the sums that
// the next batch norm needs. The functions in fused.h run the kernels on all threads. The sums are
// Σ x and Σ x², so the variance of a channel is accurate to 1 % if its mean is below 100 standard
// deviations.
//
// Activations and their gradients are images×pixels×stride with stride = padded(channels). (The
// fields named `stride` are the strides of convolutions, in pixels.) Their type is that of Storage;
// pointers to them are `void*`. Everything else is float32, except the sums (double) and packed
// bfloat16 weights. All vectors of channels have padded(channels) elements. The padding of
// activations and gradients is zero and stays zero. Pointers are 64-byte aligned, except those to
// parameters and to images.

#include <cstddef>
#include <cstdint>

#include "ops/ops.h"

namespace shoal::ops::fused {

// Type of activations in memory. bf16: if the processor has bfloat16 products, Pointwise and Dense
// also round the operands of their matrix products to bfloat16. All other arithmetic is in float32
// or double.
enum class Storage { f32, bf16 };
[[maybe_unused]] static constexpr int64_t size_of(Storage storage) {
  return storage == Storage::f32 ? 4 : 2;
}

constexpr int64_t kPadding = 16;  // channels are padded to a multiple of this
[[maybe_unused]] static constexpr int64_t padded(int64_t channels) {
  return (channels + kPadding - 1) / kPadding * kPadding;
}
[[maybe_unused]] static constexpr int64_t chunks(int64_t all, int64_t size) {
  return (all + size - 1) / size;
}

// Vectors of one batch norm. Forward: y = activation(x * scale + shift). Backward, with dz = dy *
// activation'(…): dx = slope * dz + pull * x + offset.
struct Norm {
  float *mean, *inv_std, *scale, *shift, *slope, *pull, *offset;
};

// An activation as its consumer reads it. If `norm` is set, the operand is deferred: x is the raw
// output of a convolution, and the consumer applies batch norm and activation.
struct Operand {
  const void* x = nullptr;
  const Norm* norm = nullptr;
  Activation activation = Activation::none;
  const float* gate = nullptr;  // images×stride; the activated value is multiplied by it
};

// The inputs from which backward computes the gradient with respect to x, the raw output of a
// convolution. Batch norm `norm` comes after this convolution.
struct Upstream {
  const void* x = nullptr;
  const Norm* norm = nullptr;
  Activation activation = Activation::none;
  // dz is the gradient of z = x * scale + shift. Factors and terms that are nullptr are left out.
  //   joined:    dz = u * mask * activation'(z)
  //   otherwise: dz = u * mask * gate + spread * activation'(z); u includes activation'(z)
  const void* u = nullptr;      // images×pixels×stride; nullptr: 0
  const float* mask = nullptr;  // one factor per image
  const float* gate = nullptr;  // images×stride, of the squeeze-excite; requires `spread`
  // images×stride: the part of the gradient that is equal for all pixels of an image, from average
  // pooling or squeeze-excite.
  const float* spread = nullptr;
  bool joined = false;  // u is the gradient of the output of a Join with an activation
};

// Where a consumer writes the gradient of its input. If the input is deferred: u = gradient *
// activation'(z), and the consumer also computes the sums that the input's batch norm needs.
struct Downstream {
  void* u = nullptr;  // nullptr: not wanted
  bool add = false;   // adds to u; only if the input is not deferred
};

// The squeeze-excite that computes the gate of an operand. stride: padded(channels) of the operand.
// Matrices are padded(squeezed)×stride.
struct Squeeze {
  int64_t squeezed = 0;
  bool hard = false;  // relu and hard sigmoid instead of silu and sigmoid
  const float *weight1 = nullptr, *weight2 = nullptr;   // weight2 is transposed
  const float *bias1 = nullptr, *bias2 = nullptr;       // padded
  float *pooled = nullptr, *gate = nullptr;             // images×stride
  float *hidden = nullptr, *squeezed_values = nullptr;  // images×padded(squeezed)
  // Backward.
  float *d_excited = nullptr, *spread = nullptr;  // images×stride
  float* d_hidden = nullptr;                      // images×padded(squeezed)
};

// A matrix in the order in which multiply() (gemm_loops.h) reads it.
struct Packed {
  const float* values = nullptr;
  int64_t depth = 0, width = 0;  // depth: rows of floats, or of pairs of bfloat16; width: padded
};

struct Pointwise {  // a 1×1 convolution
  int64_t images, pixels, in, out;
  Operand input;
  Squeeze* squeeze = nullptr;  // if not nullptr, computes input.gate first
  Packed weights;              // by pack_pointwise; forward: in×out; backward: out×in
  int64_t tile;                // rows that are processed together
  bool streams = false;        // writes the output (backward: dx.u) past the caches
  void* y = nullptr;           // forward
  Upstream dy;                 // backward
  Downstream dx;
  bool wide = false;  // out > in: d_weights is in×out, otherwise out×in; both are padded
};
// Number of consecutive rows that are divided into tiles: the rows of one image if a gate, mask or
// spread differs between images, otherwise all rows. A row contains the channels of one pixel.
[[maybe_unused]] static int64_t group_rows(const Pointwise& op) {
  const bool by_image = op.squeeze != nullptr || op.input.gate != nullptr ||
                        op.dy.mask != nullptr || op.dy.spread != nullptr;
  return by_image ? op.pixels : op.images * op.pixels;
}
[[maybe_unused]] static int64_t item_count(const Pointwise& op) {
  const int64_t rows = group_rows(op);
  return op.squeeze ? op.images : op.images * op.pixels / rows * chunks(rows, op.tile);
}

// The windows of an operation that slides a kernel over images.
struct Window {
  int64_t images, height, width, out_height, out_width;
  int64_t kernel, stride, top, left;  // `top`, `left`: padding above and left of the image
};

struct Depthwise : Window {  // kernel: 3 or 5; stride: 1 or 2
  int64_t channels;
  int64_t block;  // channels that are processed together
  Operand input;
  const float* weights = nullptr;  // kernel²×padded channels
  bool streams = false;
  void* y = nullptr;
  Upstream dy;
  Downstream dx;
};

// A convolution over all channels. The weight gradient and the input gradient are separate
// operations (dense_weight_gradient, dense_input_gradient).
struct Dense : Window {
  int64_t in, out;
  int64_t rows, input_rows;  // output rows, and input rows, that are processed together
  Operand input;             // without a gate
  // A matrix for each kernel position, by pack_dense. Forward: in×padded(out); backward:
  // out×padded(in).
  Packed weights;
  bool streams = false;
  void* y = nullptr;
  Upstream dy;
  Downstream dx;
};

// A dense convolution of the images, which need no gradient.
struct Stem : Window {
  int64_t in, out;
  const void* x = nullptr;  // images×height×width×in, not padded
  Packed weights;           // by pack; (kernel²·in)×out
  bool streams = false;
  void* y = nullptr;
  Upstream dy;
};

// A batch norm that stores its output, usually with a skip connection. Forward: y = activation(x *
// scale + shift) [* mask] [+ skip]. Backward: adds up batch norm's sums of dz and of dz * (x -
// mean), where dz = dy [* mask] * activation'(x * scale + shift). `rectified`: forward ends with y
// = max(y, 0), and backward first sets dy to 0 where y is 0.
struct Join {
  int64_t images, pixels, channels;
  Activation activation = Activation::none;
  bool rectified = false;
  const void* x;
  const Norm* norm;
  const float* mask = nullptr;  // images
  const void* skip = nullptr;
  void* y = nullptr;
  void* dy = nullptr;
};

// Mean over the pixels of the operand. Backward of a deferred operand only adds up batch norm's
// sums of dz and of dz * (x - mean), where dz = spread * activation'(z). Otherwise it writes dx.u =
// spread.
struct Pool {
  int64_t images, pixels, channels;
  Operand input;
  float* y = nullptr;             // images×stride
  const float* spread = nullptr;  // images×stride
  Downstream dx;
};

// The maximum of each window. Backward adds the gradient of the maximum to the first element of the
// window that equals the maximum.
struct MaxPool : Window {
  int64_t channels;
  Operand input;  // deferred
  void* y = nullptr;
  const void* dy = nullptr;
  Downstream dx;
};

// One thread's memory. The loops add to `sums` and `d_weights`.
struct Scratch {
  float* memory;     // Needs::scratch floats (fused.h)
  double* sums;      // 2×stride; sums for the batch norm after (backward: before) the operation
  float* d_weights;  // sums of the weight gradient; nullptr: not wanted
};

struct Loops {
  const char* name;  // of the instruction set, such as "avx512"

  // Number of panels of a packed matrix (gemm_loops.h).
  int64_t (*panels)(int64_t width);
  // Packs the panels [begin, end) of a depth×width matrix whose element (k, n) is values[k * k_step
  // + n * n_step].
  void (*pack)(const float* values, int64_t k_step, int64_t n_step, int64_t depth, int64_t width,
               int64_t begin, int64_t end, float* packed);
  // The same for the weights of Pointwise and Dense. A packed row holds `together` rows of the
  // matrix.
  void (*pack_pointwise)(const float* values, int64_t k_step, int64_t n_step, int64_t depth,
                         int64_t width, int64_t begin, int64_t end, float* packed);
  int64_t together;
  // c[m, n] += Σ a[m, k] b[k, n] for the panels [begin, end) of b.
  void (*multiply_panels)(const float* a, int64_t stride, int64_t rows, const Packed& b,
                          int64_t begin, int64_t end, float* c, int64_t c_stride);
  // c[i, j] += Σ over m of a[m, i] b[m, j], for j < width and i < height. `width` is padded, and
  // `height` is rounded up to a multiple of 4 or 8.
  void (*multiply_transposed)(int64_t rows, const float* a, int64_t a_stride, int64_t height,
                              const float* b, int64_t b_stride, int64_t width, float* c,
                              int64_t c_stride);

  // Each computes the work items [begin, end) of the operation. A Pointwise has item_count() items;
  // fused.cpp defines the number of items of the other operations.
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

  // Computes an activation and its derivative for `count` floats, a multiple of kPadding.
  void (*activate)(Activation activation, const float* z, int64_t count, float* values,
                   float* slopes);
};

// The loops of each instruction set for Storage::f32 and, with "_bf16", for Storage::bf16.
// avx512_dot: for Storage::bf16 on processors that multiply bfloat16 (AVX-512 BF16).
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
