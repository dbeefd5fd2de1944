#pragma once
// The operations that shoal implements itself instead of calling LibTorch, as a table of function
// pointers.
//
// Functions work on raw memory of one device. They keep no state and allocate nothing, except for
// scratch memory on GPUs: the first operation that needs it on a GPU allocates it. Do not run that
// operation during graph capture. All operations on a GPU share the scratch memory, so they must
// not run on two streams at the same time. On the CPU, functions throw nothing. On a GPU, they
// throw std::runtime_error if they cannot allocate the scratch memory or start a kernel.
//
// The caller owns all memory and keeps it valid until the work on `stream` is done. Arrays are
// 16-byte aligned; single values have the alignment of their type. On the CPU, `stream` is ignored
// and a call returns when its work is done. On a GPU, `stream` is a cudaStream_t and a call only
// enqueues the work.
//
// Implementations agree up to rounding. For a fixed thread count, sums are computed in a fixed
// order, so results repeat bit for bit.
//
// Activations are rows×channels: an N×C×H×W channels-last tensor has N*H*W rows of C values.
// Implementations: ops/reference (plain loops, the definition), ops/cpu (vector loops on all
// threads), ops/cuda (plug-in).

#include <cstdint>

#include "ops/optimizers.h"

namespace shoal::ops {

// Element types of activations. Statistics and normalization parameters have the statistics type:
// float for f32 and bf16, double for f64.
enum class Type : int { f32, f64, bf16 };
// relu6: min(max(x, 0), 6). hard_swish: x * relu6(x + 3) / 6.
enum class Activation : int { none, relu, relu6, silu, hard_swish };

// Whether an output is so large that the caches would evict it before it is read again. CPU kernels
// write such an output with non-temporal stores.
constexpr bool exceeds_caches(int64_t bytes) {
  return bytes >= 8 << 20;
}

// The position of one parameter tensor in the flat buffers (train/step/state/flat_parameters.h),
// and its optimizer settings. Offsets are multiples of 16 elements.
struct Segment {
  int64_t offset = 0;      // elements from the start of each flat buffer
  int64_t length = 0;      // elements, without the padding that follows, which stays 0
  float lr_scale = 1;      // multiplies the learning rate
  float weight_decay = 0;  // the caller sets 0 for normalization parameters and biases
  // Number of steps before this parameter was first trained. The bias corrections of Adam, AdamW
  // and LAMB do not count them.
  int64_t first_step = 0;
};

// What fills an erased rectangle of the normalized image: zeros (constant), one standard normal
// value per channel (color), or one per element (noise). erase.h computes the values from
// erase_key, the rectangle's number, the position and the channel.
enum class EraseFill : int { constant, color, noise };
constexpr int kMaxErasures = 4;  // maximum number of erased rectangles per row

// Mixup, CutMix and random erasing of one row of a batch. Rectangles are x0, y0, x1, y1 in pixels;
// x1 and y1 are exclusive.
struct MixRow {
  // Index in PrepareBatch::images of the image to mix in, or of the row's own image if not mixed.
  int32_t partner = 0;
  float lambda = 1;               // mixup: weight of the row's own image; 1 for CutMix
  int32_t box[4] = {0, 0, 0, 0};  // CutMix: the partner's pixels replace this rectangle
  // The rectangles to erase: the first `erased` entries. Where two overlap, the later one wins.
  int32_t erase[kMaxErasures][4] = {};
  int32_t erased = 0;
  EraseFill erase_fill = EraseFill::constant;
  uint64_t erase_key = 0;
};

// Converts uint8 images to a normalized batch, with mixing and erasing.
struct PrepareBatch {
  const uint8_t* images;  // (N·each)×H×W×C
  const MixRow* mix;      // N rows, in memory of the device; nullptr: no mixing, no erasing
  void* out;              // N×H×W×C of `type` (the memory of an N×C×H×W channels-last tensor)
  Type type;
  int64_t n, height, width;
  float mean[3], std[3];  // for pixels scaled to 0..1: (x/255 - mean) / std
  int64_t each = 1;       // images per row: row i uses image i·each and mix[i].partner
  int64_t channels = 3;   // C: 3, or 1 for gray images, which use mean[0] and std[0]
};

// Batch norm, residual addition and activation as one operation.
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

// Computes the batch norm statistics of each channel. `sums` contains Σ x for each channel, then
// Σ x² for each channel, then the row count, as batch_norm_sums writes them. For synchronized batch
// norm, the caller sums all values over the ranks.
struct BatchNormFinish {
  Type type;  // of the activations; outputs have the statistics type
  int64_t channels;
  const double* sums;  // 2*channels + 1
  double eps, momentum;
  void* mean;     // channels
  void* inv_std;  // channels: 1 / sqrt(biased variance + eps)
  // 2×channels, mean and variance: what this step will add to the running statistics (BatchNormSlot
  // in models/model.h). Becomes (1 - momentum) * pending + momentum * {mean, unbiased variance}.
  void* pending;
};

// Where the gradients of a batch norm's parameters go: `channels` values each, of the statistics
// type. nullptr: not written.
struct NormGradients {
  void *weight = nullptr, *bias = nullptr;
  bool add = false;  // adds to the values there, instead of overwriting them
};

// A random mask without generator state: a value is determined by a hash of (seed, layer, key of
// the row, element).
struct Mask {
  Type type;  // of the values
  int64_t rows, width;
  const uint64_t* keys;  // rows
  uint64_t seed, layer;
  double drop;  // probability of 0, at most 1
};

// The per-image channel gate of squeeze-excite: y[n, i, c] = x[n, i, c] * gate[n, c].
struct Gate {
  Type type;  // of x, y and their gradients; everything else has the statistics type
  int64_t images, pixels, channels;
  const void* x;     // images×pixels×channels
  const void* gate;  // images×channels; not read by pool and gate_backward_sums
};

// A depthwise convolution: each channel has its own kernel×kernel weights. Activations are
// images×height×width×channels.
struct Depthwise {
  Type type;                                // of activations and weights
  int64_t images, height, width, channels;  // of the input
  int64_t kernel, stride, padding;          // pixels, the same for height and width
};

// Softmax cross-entropy with label smoothing s and two labels per row: target = lambda*onehot(a) +
// (1-lambda)*onehot(b), then (1-s)*target + s/classes. With class weights w, a row's loss is
// -Σ w[c] target[c] log softmax[c], as in PyTorch with reduction="sum".
struct CrossEntropy {
  Type type;  // of logits and gradient
  int64_t rows, classes;
  const void* logits;      // rows×classes
  const int32_t* label_a;  // rows
  const int32_t* label_b;  // rows; nullptr: label_a
  const float* lambda;     // rows; nullptr: 1
  float smoothing;
  // With w = class_weights: gradient = gradient_scale * (softmax * Σ w[k] target[k] - w * target).
  double gradient_scale;
  void* gradient;    // rows×classes, or nullptr
  double* loss_sum;  // one value, to which the losses of all rows are added
  // One value each. Incremented for each row whose label_a ranks first (top1) or among the first
  // five (top5) in a stable descending sort by score (ops/places.h). A row with a NaN logit counts
  // in neither.
  int64_t *top1, *top5;
  const double* class_weights = nullptr;  // classes; nullptr: all 1
};

// The settings that only binary cross-entropy has. All other arguments and the targets are as in
// CrossEntropy. A row's loss is the mean over the classes of -target log(p) - (1-target) log(1-p),
// where p = sigmoid(logit). With class weights w, this mean is multiplied by Σ w[c] target[c]. The
// gradient is gradient_scale times the derivative of the loss; it is NaN for an infinite logit.
struct BinaryCrossEntropy {
  // If 0 or more, the loss replaces targets above the threshold by 1 and all others by 0. If below
  // 0, it uses the targets unchanged. The factor from the class weights, Σ w[c] target[c], always
  // uses the unchanged targets.
  double threshold = -1;
  bool sum_classes = false;  // a row's loss is the sum over the classes instead of their mean
};

// Arguments of all optimizers. Parameters, gradients, copy and state have `total` elements each,
// including padding.
struct OptimizerStep {
  OptimizerKind kind;
  const Segment* segments;  // host memory on the CPU, device memory on a GPU
  int64_t segment_count, total;
  Type type;  // f32 or f64: type of parameters, gradients and state
  void* parameters;
  const void* gradients;
  void* copy;  // bf16 copy of the parameters, which the step updates; nullptr: none
  // The buffers of info_of(kind).states, initialized by the caller; nullptr where has_state() is
  // false.
  void* state[kMaxOptimizerStates];
  // L2 norm of all gradients, one value. The step uses gradients * min(1, clip / (norm + 1e-6)).
  // nullptr: no clipping.
  const double* gradient_norm;
  double clip;
  const int32_t* non_finite;  // one value; if not 0, nothing is written; nullptr: always write
  double lr;
  int64_t step;  // 1 for the first step
  double momentum;
  bool nesterov;
  double alpha;         // decay rate of RMSprop's mean square
  double beta1, beta2;  // decay rates of the two moments of Adam, AdamW and LAMB
  double eps;
};

struct Table {
  const char* name;  // "reference", "portable", "avx2", "cuda", "cuda twin"

  void (*prepare_batch)(const PrepareBatch&, void* stream);

  // sums[c] = Σ x, sums[channels + c] = Σ x², sums[2*channels] = rows. If `finish` is not nullptr,
  // then does the same as batch_norm_finish(*finish), whose sums must be `sums`.
  void (*batch_norm_sums)(Type, const void* x, int64_t rows, int64_t channels, double* sums,
                          const BatchNormFinish* finish, void* stream);
  void (*batch_norm_finish)(const BatchNormFinish&, void* stream);
  // y = activation((x - mean) * inv_std * weight + bias [+ residual]).
  void (*batch_norm_apply)(const BatchNorm&, void* y, void* stream);
  // With dz = dy * activation'(…): sums[c] = Σ dz, sums[channels + c] = Σ dz * (x - mean) *
  // inv_std. These are also the gradients of bias and weight.
  void (*batch_norm_backward_sums)(const BatchNorm&, const void* dy, double* sums,
                                   const NormGradients&, void* stream);
  // dx = weight * inv_std * (dz - sums[c]/count - xhat * sums[channels + c]/count), where xhat =
  // (x - mean) * inv_std and `sums` are the sums of batch_norm_backward_sums over *count rows. If
  // `count` is nullptr, the statistics were constants: dx = weight * inv_std * dz. `d_residual`
  // receives dz unless it is nullptr.
  void (*batch_norm_backward_apply)(const BatchNorm&, const void* dy, const double* sums,
                                    const double* count, void* dx, void* d_residual, void* stream);

  // pooled[n, c] = mean over pixels of x.
  void (*pool)(const Gate&, void* pooled, void* stream);
  void (*gate_apply)(const Gate&, void* y, void* stream);
  // d_gate[n, c] = Σ over pixels of dy * x.
  void (*gate_backward_sums)(const Gate&, const void* dy, void* d_gate, void* stream);
  // dx = dy * gate + d_pooled / pixels, the sum of the gradients through gate_apply and through
  // pool.
  void (*gate_backward_apply)(const Gate&, const void* dy, const void* d_pooled, void* dx,
                              void* stream);

  // out[row, i] = 0 with probability `drop`, otherwise 1 / (1 - drop).
  void (*mask)(const Mask&, void* out, void* stream);

  // d_weight[c, row, column] = Σ over images and output positions of dy times the input value that
  // this weight multiplies. nullptr in tables without an implementation: use LibTorch's instead.
  void (*depthwise_backward_weights)(const Depthwise&, const void* x, const void* dy,
                                     void* d_weight, void* stream);

  void (*cross_entropy)(const CrossEntropy&, void* stream);
  void (*binary_cross_entropy)(const CrossEntropy&, const BinaryCrossEntropy&, void* stream);

  // norm = sqrt(Σ g²) in double. Sets *non_finite to 1 if the norm is not finite; never resets it.
  void (*gradient_norm)(Type, const void* gradients, int64_t total, double* norm,
                        int32_t* non_finite, void* stream);
  // Performs one step of the optimizer `kind` with the rule in optimizer_rules.h. Trust ratios come
  // from sums in double.
  void (*optimize)(const OptimizerStep&, void* stream);
  // average += (1 - decay) * (parameters - average). Writes nothing if `non_finite` points to a
  // value other than 0. nullptr: always writes.
  void (*ema)(Type, void* average, const void* parameters, int64_t total, double decay,
              const int32_t* non_finite, void* stream);
};

const Table& reference();  // plain loops; the other tables are tested against this one
const Table& cpu();        // the fastest implementation for this processor
// Makes cpu() return *table, so that a test can compute a whole step with the GPU's sources.
// nullptr: undoes that. Not thread-safe.
void replace_cpu(const Table* table);
// The table of the CUDA plug-in; nullptr until the plug-in is loaded. Call set_gpu() before other
// threads call gpu(): there is no synchronization.
const Table* gpu();
void set_gpu(const Table* table);

}  // namespace shoal::ops
