#pragma once
// The operations that have a fast path, as a table of function pointers.
//
// Functions work on raw memory of one device. They use no tensors, throw nothing and allocate
// nothing. They are stateless, except for CUDA scratch memory allocated per device on first use.
// Therefore, on a GPU, run operations on one stream at a time, and do not make the first call
// during graph capture.
//
// The caller owns all pointers and keeps them valid until the work on `stream` is done. Arrays are
// 16-byte aligned; pointers to single numbers have the alignment of their type. On the CPU,
// `stream` is ignored and a call returns when its work is done. On a GPU, `stream` is a
// cudaStream_t and a call only enqueues.
//
// Implementations agree up to rounding. Sums have a fixed order for a fixed thread count, so
// results repeat bit for bit.
//
// Activations are rows×channels: an N×C×H×W channels-last tensor has N*H*W rows of C values.
// Implementations: ops/reference (plain loops, the definition), ops/cpu (vector loops on all
// threads), ops/cuda (plug-in).

#include <cstdint>

namespace shoal::ops {

// Element types of activations. Statistics and normalization parameters are float for f32, bf16 and
// f16, double for f64.
enum class Type : int { f32, f64, bf16, f16 };
enum class Activation : int { none, relu, silu };

// A slice of the flat parameter buffers with its own settings. Offsets are multiples of 16
// elements.
struct Segment {
  int64_t offset = 0;      // elements from the start of each flat buffer
  int64_t length = 0;      // elements; the gap up to the next offset is padding and stays zero
  float lr_scale = 1;      // multiplies the learning rate
  float weight_decay = 0;  // already 0 for normalization parameters and biases
};

// Fill of an erased rectangle in the normalized image: zeros, one normal variate per channel, or
// one per value. The variates are a function of (erase_key, rectangle, position, channel).
enum class EraseFill : int { constant, color, noise };
constexpr int kMostErasures = 4;

// Mixing and erasing of one row of a batch.
struct MixRow {
  int32_t partner = 0;  // index of the image to mix with; the row's own index if not mixed
  float lambda = 1;     // weight of the row's own image; with CutMix, 1 outside the box
  // CutMix box x0, y0, x1, y1: pixels inside come from the partner.
  int32_t box[4] = {0, 0, 0, 0};
  // x0, y0, x1, y1 of the `erased` rectangles (random erasing). Later ones overwrite earlier ones.
  int32_t erase[kMostErasures][4] = {};
  int32_t erased = 0;
  EraseFill erase_fill = EraseFill::constant;
  uint64_t erase_key = 0;
};

struct PrepareBatch {
  const uint8_t* images;  // (N·each)×H×W×3
  const MixRow* mix;      // N, device memory; nullptr: no mixing, no erasing
  void* out;              // N×H×W×3 of `type` (the memory of an N×3×H×W channels-last tensor)
  Type type;
  int64_t n, height, width;
  float mean[3], std[3];  // for pixels scaled to 0..1: (x/255 - mean) / std
  int64_t each = 1;       // images per row: row i uses image i·each and its partner
};

struct BatchNorm {
  Type type;
  Activation activation;
  int64_t rows, channels;
  const void* x;         // rows×channels
  const void* residual;  // rows×channels, added before the activation; or nullptr
  const void* mean;      // channels, statistics type
  const void* inv_std;   // channels, statistics type: 1 / sqrt(variance + eps)
  const void* weight;    // channels, statistics type
  const void* bias;      // channels, statistics type
};

// Computes the batch norm statistics of each channel from sums = {Σ x, Σ x², …, count}, with the
// row count at sums[2*channels]. This is the layout written by batch_norm_sums, summed over ranks
// if batch norm is synchronized.
struct BatchNormFinish {
  Type type;  // of the activations; outputs have the statistics type
  int64_t channels;
  const double* sums;  // 2*channels + 1
  double eps, momentum;
  void* mean;     // channels
  void* inv_std;  // channels: 1 / sqrt(biased variance + eps)
  void* pending;  // 2×channels: (1 - momentum) * pending + momentum * {mean, unbiased variance}
};

// The per-image channel gate of squeeze-excite: y[n, i, c] = x[n, i, c] * gate[n, c].
struct Gate {
  Type type;  // of x, y and their gradients; `gate` and `pooled` have the statistics type
  int64_t images, pixels, channels;
  const void* x;     // images×pixels×channels
  const void* gate;  // images×channels; nullptr if unused
};

// A depthwise convolution: each channel has its own kernel×kernel weights. Activations are
// images×height×width×channels.
struct Depthwise {
  Type type;                                // of activations and weights
  int64_t images, height, width, channels;  // of the input
  int64_t kernel, stride, padding;          // the same in both directions
};

// Softmax cross-entropy with label smoothing s and two labels per row: target = lambda*onehot(a) +
// (1-lambda)*onehot(b), then (1-s)*target + s/classes. Computes sums, not means.
struct CrossEntropy {
  Type type;  // of logits and gradient
  int64_t rows, classes;
  const void* logits;      // rows×classes
  const int32_t* label_a;  // rows
  const int32_t* label_b;  // rows; nullptr: label_a
  const float* lambda;     // rows; nullptr: 1
  float smoothing;
  double gradient_scale;  // gradient = scale * (softmax - target)
  void* gradient;         // rows×classes, or nullptr
  double* loss_sum;       // += sum over the rows
  // += number of rows whose label_a ranks first, or among the first five, in a stable descending
  // sort by score (ops/places.h). A row with a NaN logit counts in neither.
  int64_t *top1, *top5;
};

// Arguments shared by the optimizer passes. All buffers have `total` elements, padding included.
struct OptimizerStep {
  const Segment* segments;  // host memory on the CPU, device memory on a GPU
  int64_t segment_count, total;
  Type type;  // f32 or f64: type of parameters, gradients and state
  void* parameters;
  const void* gradients;
  void* copy;  // bf16/f16 copy of the parameters to refresh; nullptr: none
  Type copy_type;
  void* state1;  // SGD: momentum; RMSprop: mean square; AdamW: first moment
  void* state2;  // RMSprop: momentum; AdamW: second moment
  // One value. Gradients are scaled by min(1, clip / (norm + 1e-6)). nullptr: no clipping.
  const double* gradient_norm;
  double clip;
  const int32_t* non_finite;  // one value; if not 0, nothing is written; nullptr: always write
  double lr;
  int64_t step;         // 1 for the first step
  double momentum;      // SGD, RMSprop
  bool nesterov;        // SGD
  double alpha;         // RMSprop: decay rate of the mean square
  double beta1, beta2;  // AdamW
  double eps;
};

struct Table {
  const char* name;  // "reference", "portable", "avx2", "cuda", "cuda twin"

  void (*prepare_batch)(const PrepareBatch&, void* stream);

  // sums[c] = Σ x, sums[channels + c] = Σ x², in double. Overwrites.
  void (*batch_norm_sums)(Type, const void* x, int64_t rows, int64_t channels, double* sums,
                          void* stream);
  void (*batch_norm_finish)(const BatchNormFinish&, void* stream);
  // y = activation((x - mean) * inv_std * weight + bias [+ residual]).
  void (*batch_norm_apply)(const BatchNorm&, void* y, void* stream);
  // With dz = dy * activation'(…): sums[c] = Σ dz, sums[channels + c] = Σ dz * (x - mean) *
  // inv_std. Overwrites.
  void (*batch_norm_backward_sums)(const BatchNorm&, const void* dy, double* sums, void* stream);
  // dx = weight * inv_std * (dz - sums[c]/count - xhat * sums[channels + c]/count). If count < 0,
  // the statistics were constants: dx = weight * inv_std * dz. `d_residual` receives dz unless it
  // is nullptr.
  void (*batch_norm_backward_apply)(const BatchNorm&, const void* dy, const double* sums,
                                    double count, void* dx, void* d_residual, void* stream);

  // pooled[n, c] = mean over pixels of x.
  void (*pool)(const Gate&, void* pooled, void* stream);
  void (*gate_apply)(const Gate&, void* y, void* stream);
  // d_gate[n, c] = Σ over pixels of dy * x.
  void (*gate_backward_sums)(const Gate&, const void* dy, void* d_gate, void* stream);
  // dx = dy * gate + d_pooled / pixels: the gradients through the gate and through the pooled means
  // in one pass.
  void (*gate_backward_apply)(const Gate&, const void* dy, const void* d_pooled, void* dx,
                              void* stream);

  // d_weight[c, row, column] = Σ over images and outputs of dy * the input multiplied by this
  // weight. nullptr if LibTorch's implementation is to be used.
  void (*depthwise_backward_weights)(const Depthwise&, const void* x, const void* dy,
                                     void* d_weight, void* stream);

  void (*cross_entropy)(const CrossEntropy&, void* stream);

  // norm = sqrt(Σ g²) in double. Sets *non_finite to 1 if the norm is not finite; never resets it.
  void (*gradient_norm)(Type, const void* gradients, int64_t total, double* norm,
                        int32_t* non_finite, void* stream);
  // Optimizers, with d = weight_decay and PyTorch's order of operations.
  // SGD: g += d p; m = mu m + g; p -= lr (nesterov ? g + mu m : m). The first step has m = g.
  void (*sgd)(const OptimizerStep&, void* stream);
  // RMSprop as in TensorFlow (timm's RMSpropTF): eps inside the root, the mean square starts at 1,
  // lr inside the momentum.
  void (*rmsprop_tf)(const OptimizerStep&, void* stream);
  void (*adamw)(const OptimizerStep&, void* stream);
  // average += (1 - decay) * (parameters - average), unless *non_finite is set.
  void (*ema)(Type, void* average, const void* parameters, int64_t total, double decay,
              const int32_t* non_finite, void* stream);
};

const Table& reference();  // plain loops: the definition that the others are tested against
const Table& cpu();        // the fastest implementation for this processor
// The table of the CUDA plug-in; nullptr until the plug-in is open. Call set_gpu() before other
// threads call gpu(): there is no synchronization.
const Table* gpu();
void set_gpu(const Table* table);

}  // namespace shoal::ops
