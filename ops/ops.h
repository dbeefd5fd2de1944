#pragma once
// The operations that have a fast path, as one table of function pointers.
//
// Every function works on raw memory of one device: no tensors, no exceptions, no allocation and no
// state but for partial sums on a GPU, which are kept in memory of the device that the first call
// takes: operations run on one stream of a device at a time, and not for the first time while a graph
// is recorded. Pointers are owned by the caller, valid until the work on `stream` is done, and 16-byte
// aligned, those to single numbers as their type is. On the CPU `stream` is ignored and the call returns when the work is done; on a GPU it
// is a cudaStream_t and the call only enqueues. Results do not depend on which implementation runs
// beyond rounding; sums are made in a fixed order for a fixed thread count, so a run repeats bit
// for bit.
//
// Activations are "rows × channels": an N×C×H×W tensor in channels-last memory has N*H*W rows of C
// values. Implementations: ops/reference (plain loops, the definition), ops/cpu (vector loops on
// all threads), ops/cuda (plug-in).

#include <cstdint>

namespace shoal::ops {

// Element types of activations. Statistics and parameters of normalisation are float for f32, bf16
// and f16, double for f64.
enum class Type : int { f32, f64, bf16, f16 };
enum class Activation : int { none, relu, silu };

// One slice of the flat parameter buffers that shares its settings. Offsets are multiples of 16
// elements.
struct Segment {
  int64_t offset = 0;      // elements from the start of each flat buffer
  int64_t length = 0;      // elements; the gap up to the next offset is padding and stays zero
  float lr_scale = 1;      // multiplies the learning rate
  float weight_decay = 0;  // already 0 for normalisation parameters and biases
};

// What an erased rectangle of a normalised image holds: 0; one normal variate per channel; one
// per value. The variates follow from (erase_key, rectangle or place, channel).
enum class EraseFill : int { constant, color, noise };
constexpr int kMostErasures = 4;

// How one row of a batch is mixed with another image of the same batch and what is erased.
struct MixRow {
  int32_t partner = 0;  // number of the partner's image; its own when not mixed
  float lambda = 1;     // weight of the row's own image, outside the box 1 for cutmix
  // x0, y0, x1, y1: inside, the partner's pixels replace the row's (cutmix).
  int32_t box[4] = {0, 0, 0, 0};
  // x0, y0, x1, y1 of `erased` rectangles (random erasing); a later one covers an earlier one.
  int32_t erase[kMostErasures][4] = {};
  int32_t erased = 0;
  EraseFill erase_fill = EraseFill::constant;
  uint64_t erase_key = 0;
};

struct PrepareBatch {
  const uint8_t* images;  // (N·each)×H×W×3
  const MixRow* mix;      // N, memory of the device; or nullptr: no mixing, no erasing
  void* out;              // N×H×W×3 of `type` (the memory of an N×3×H×W channels-last tensor)
  Type type;
  int64_t n, height, width;
  float mean[3], std[3];  // in units of 0..1, as (x/255 - mean) / std
  int64_t each = 1;       // images per row: row i is made of image i·each and its partner
};

struct BatchNorm {
  Type type;
  Activation activation;
  int64_t rows, channels;
  const void* x;         // rows×channels
  const void* residual;  // rows×channels added before the activation, or nullptr
  const void* mean;      // channels, statistics type
  const void* inv_std;   // channels, statistics type: 1 / sqrt(variance + eps)
  const void* weight;    // channels, statistics type
  const void* bias;      // channels, statistics type
};

// The small step between the sums and the normalisation: per channel, from sums = {Σ x, Σ x², …,
// count} with count at sums[2*channels] (the layout batch_norm_sums leaves, summed over ranks when
// batch norm is synchronised).
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
  Type type;  // of x, y and their gradients; gate and pooled have the statistics type
  int64_t images, pixels, channels;
  const void* x;     // images×pixels×channels
  const void* gate;  // images×channels, or nullptr where unused
};

// A depthwise convolution: each channel with its own kernel×kernel weights. Activations are
// images×height×width×channels.
struct Depthwise {
  Type type;                                // of activations and weights
  int64_t images, height, width, channels;  // of the input
  int64_t kernel, stride, padding;          // both ways
};

// Softmax cross-entropy with label smoothing s and two labels per row: target = lambda*onehot(a) +
// (1-lambda)*onehot(b), then (1-s)*target + s/classes. Sums, not means.
struct CrossEntropy {
  Type type;  // of logits and gradient
  int64_t rows, classes;
  const void* logits;      // rows×classes
  const int32_t* label_a;  // rows
  const int32_t* label_b;  // rows, or nullptr: label_a
  const float* lambda;     // rows, or nullptr: 1
  float smoothing;
  double gradient_scale;  // gradient = scale * (softmax - target)
  void* gradient;         // rows×classes, or nullptr
  double* loss_sum;       // += sum over rows
  // += rows whose label_a is the first, or among the first five, in a stable descending sort by
  // score (ops/places.h). A row with a NaN logit counts in neither.
  int64_t *top1, *top5;
};

// State shared by the optimizers' flat passes. All buffers have `total` elements (padding
// included).
struct OptimizerStep {
  const Segment* segments;  // host memory on the CPU, device memory on a GPU
  int64_t segment_count, total;
  Type type;  // f32 or f64: of parameters, gradients and state
  void* parameters;
  const void* gradients;
  void* copy;  // bf16/f16 copy of the parameters to refresh, or nullptr
  Type copy_type;
  void* state1;  // SGD: momentum; RMSprop: mean square; AdamW: first moment
  void* state2;  // RMSprop: momentum; AdamW: second moment
  // One value: gradients are scaled by min(1, clip / (norm + 1e-6)); nullptr: no clipping.
  const double* gradient_norm;
  double clip;
  const int32_t* non_finite;  // one value: when not 0 nothing is written; nullptr: always write
  double lr;
  int64_t step;         // 1 for the first update
  double momentum;      // SGD, RMSprop
  bool nesterov;        // SGD
  double alpha;         // RMSprop decay of the mean square
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
  // dx = weight * inv_std * (dz - sums[c]/count - xhat * sums[channels + c]/count); count < 0:
  // statistics were constants, dx = weight * inv_std * dz. d_residual (or nullptr) receives dz.
  void (*batch_norm_backward_apply)(const BatchNorm&, const void* dy, const double* sums,
                                    double count, void* dx, void* d_residual, void* stream);

  // pooled[n, c] = mean over pixels of x.
  void (*pool)(const Gate&, void* pooled, void* stream);
  void (*gate_apply)(const Gate&, void* y, void* stream);
  // d_gate[n, c] = Σ over pixels of dy * x.
  void (*gate_backward_sums)(const Gate&, const void* dy, void* d_gate, void* stream);
  // dx = dy * gate + d_pooled / pixels: the gradient through the gate and through the pooled means
  // together.
  void (*gate_backward_apply)(const Gate&, const void* dy, const void* d_pooled, void* dx,
                              void* stream);

  // d_weight[c, row, column] = Σ over images and outputs of dy * the input that the weight met.
  // nullptr where LibTorch's own is the one to use.
  void (*depthwise_backward_weights)(const Depthwise&, const void* x, const void* dy,
                                     void* d_weight, void* stream);

  void (*cross_entropy)(const CrossEntropy&, void* stream);

  // norm = sqrt(Σ g²) in double; *non_finite = 1 when it is not finite (never set back to 0).
  void (*gradient_norm)(Type, const void* gradients, int64_t total, double* norm,
                        int32_t* non_finite, void* stream);
  // d = weight_decay, all in PyTorch's order of operations.
  // SGD: g += d p; m = mu m + g; p -= lr (nesterov ? g + mu m : m). The first step has m = g.
  void (*sgd)(const OptimizerStep&, void* stream);
  // RMSprop as TensorFlow has it (timm's RMSpropTF): eps inside the root, mean square starts at 1,
  // lr inside momentum.
  void (*rmsprop_tf)(const OptimizerStep&, void* stream);
  void (*adamw)(const OptimizerStep&, void* stream);
  // average += (1 - decay) * (parameters - average), unless *non_finite.
  void (*ema)(Type, void* average, const void* parameters, int64_t total, double decay,
              const int32_t* non_finite, void* stream);
};

const Table& reference();  // plain loops: the definition the others are tested against
const Table& cpu();        // the fastest for this processor
// The CUDA plug-in's, once it is open; nullptr before. It is opened and set from one thread, before
// others ask.
const Table* gpu();
void set_gpu(const Table* table);

}  // namespace shoal::ops
