#pragma once
// Runs the kernels of the fused CPU step on Workspace::threads() threads, or on fewer if OpenMP
// provides fewer. Functions without a Workspace use OpenMP's default number of threads, and their
// results do not depend on it.
//
// Each thread computes consecutive work items and has its own sums, which are then added in thread
// order. So results repeat bit for bit for a fixed number of threads. Another number of threads
// changes only the rounding. Not thread-safe.

#include <cstdint>
#include <vector>

#include "ops/fused/kernels.h"

namespace shoal::ops::fused {

// Sizes of the arrays in Scratch that an operation needs on each thread: `scratch` and `d_weights`
// in floats, `sums` in doubles.
struct Needs {
  int64_t scratch = 0, sums = 0, d_weights = 0;
  void include(const Needs& other);  // raises each size to at least that of `other`
};

Needs forward_needs(const Pointwise&);
Needs forward_needs(const Depthwise&);
Needs forward_needs(const Dense&);
Needs forward_needs(const Stem&);
Needs forward_needs(const MaxPool&);
Needs backward_needs(const Pointwise&);
Needs backward_needs(const Depthwise&);
Needs backward_needs(const Dense&);
Needs backward_needs(const Stem&);
Needs backward_needs(const Join&);
Needs backward_needs(const Pool&);
Needs backward_needs(const MaxPool&);

// The first two return the number of rows of a Pointwise tile, the other two the number of channels
// of a Depthwise block. Tiles and blocks of this size fit into the caches of a core.
int64_t forward_tile(int64_t in, int64_t out);
int64_t backward_tile(int64_t in, int64_t out);
int64_t forward_block(const Depthwise&);
int64_t backward_block(const Depthwise&);

// The memory and the loops that the threads use.
class Workspace {
 public:
  Workspace(const Needs& needs, int threads, Storage storage)
      : needs_(needs), threads_(threads), loops_(&fused::loops(storage)) {}
  int64_t floats() const;                        // size of the memory for use()
  void use(float* memory) { memory_ = memory; }  // 64-byte aligned; the caller owns it
  int threads() const { return threads_; }
  const Loops& loops() const { return *loops_; }
  // Number of threads that computed the last operation.
  int used() const { return used_; }
  void set_used(int threads) { used_ = threads; }
  Scratch of(int thread) const;

 private:
  int64_t per_thread() const;

  Needs needs_;
  int threads_, used_ = 0;
  const Loops* loops_;
  float* memory_ = nullptr;
};

// Sets Dense::item, Dense::input_item and Dense::winograd. Work items are small enough for the
// caches of a core, and large enough that each load of the weights serves many pixels.
void choose_items(Dense&, const Workspace&);

// These functions run one operation on all threads. In the workspace, run() leaves the sums for
// finish_norm(); the backward functions leave the sums for finish_norm_backward() and the weight
// gradient for collect_gradient(). The next operation overwrites these results.
void run(const Pointwise&, Workspace&);
void run(const Depthwise&, Workspace&);
void run(const Dense&, Workspace&);
void run(const Stem&, Workspace&);
void run(const Join&, Workspace&);
void run(const Pool&, Workspace&);
void run(const MaxPool&, Workspace&);
void run_backward(const Pointwise&, bool weight_gradient, Workspace&);
void run_backward(const Depthwise&, bool weight_gradient, Workspace&);
void run_backward(const Stem&, Workspace&);
void run_backward(const Join&, Workspace&);
void run_backward(const Pool&, Workspace&);
void run_backward(const MaxPool&, Workspace&);
void run_weight_gradient(const Dense&, Workspace&);
void run_input_gradient(const Dense&, Workspace&);

// The parameters and statistics of a batch norm, `channels` values each.
struct NormState {
  int64_t channels = 0;
  double count = 0;  // values per channel in the batch: images * pixels
  double eps = 0, momentum = 0;
  const float *weight = nullptr, *bias = nullptr;
  const float *running_mean = nullptr, *running_var = nullptr;
  float* pending = nullptr;  // 2×channels; updated like BatchNormFinish::pending
  bool fixed = false;        // use the running statistics as constants
};

// Computes mean, inv_std, scale and shift from the sums in the workspace, and updates `pending`. If
// `fixed`, uses the running statistics instead and leaves `pending` unchanged.
void finish_norm(const NormState&, const Norm&, const Workspace&);
// Computes Norm::slope, pull and offset (kernels.h) from the sums in the workspace. Writes the
// gradients of weight and bias to `d_weight` and `d_bias`; nullptr: not wanted.
void finish_norm_backward(const NormState&, const Norm&, float* d_weight, float* d_bias,
                          const Workspace&);

// Adds up the threads' weight gradients of the last operation and writes the total (out×in) to
// `gradient`. The gradients in the workspace are in×padded(out) if `transposed`, otherwise
// out×padded(in).
void collect_gradient(bool transposed, int64_t out, int64_t in, float* gradient, const Workspace&);
// Adds up the threads' weight gradients of a Dense; `gradient` is out×kernel²×in.
void collect_gradient(const Dense&, float* gradient, const Workspace&);
// Packs the weights of a Dense (out×kernel²×in) for run() or, if `backward`, for
// run_input_gradient(). `packed` has packed_floats() floats.
int64_t packed_floats(const Dense&);
Packed pack_dense(const Dense&, const float* weights, bool backward, const Loops&, float* packed);

// Pack all panels of a matrix with Loops::pack or Loops::pack_pointwise. `packed` has depth *
// padded(width) floats.
Packed pack(const float* values, int64_t k_step, int64_t n_step, int64_t depth, int64_t width,
            float* packed);
Packed pack_pointwise(const Loops& loops, const float* values, int64_t k_step, int64_t n_step,
                      int64_t depth, int64_t width, float* packed);

// The two layers of squeeze-excite, in torchvision's layout: weight1 is squeezed×channels, weight2
// channels×squeezed.
struct SqueezeWeights {
  const float *weight1, *bias1, *weight2, *bias2;
};
struct SqueezeGradients {
  float *weight1, *bias1, *weight2, *bias2;  // nullptr: not wanted
};
// Returns the number of floats that the next two functions need in `memory`.
int64_t squeeze_floats(int64_t channels, int64_t squeezed);
// Copies the weights to `memory` in the layout of Squeeze, and makes `squeeze` point to them.
// squeeze.squeezed must be set.
void pack_squeeze(const SqueezeWeights&, int64_t channels, float* memory, Squeeze& squeeze);
// Computes the gradients of the weights and biases. Call after run_backward() of the Pointwise that
// uses the Squeeze. Overwrites `memory`.
void squeeze_gradients(const Squeeze&, int64_t images, int64_t channels, float* memory,
                       const SqueezeGradients&);

// y = features × weightᵀ + bias. `features` is images×padded(in), `y` is images×padded(out).
// `weight` (out×in) and `bias` (out) are not padded.
struct Linear {
  int64_t images, in, out;
  const float *features, *weight, *bias;
};
// Returns the number of floats that run() and run_backward() need in `memory`.
int64_t linear_floats(const Linear&);
void run(const Linear&, float* memory, float* y);
// dy: images×padded(out). d_features: images×padded(in). d_weight: out×in. d_bias: out. The last
// three are overwritten; nullptr: not wanted.
void run_backward(const Linear&, const float* dy, float* memory, float* d_features, float* d_weight,
                  float* d_bias);

}  // namespace shoal::ops::fused
