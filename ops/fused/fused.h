#pragma once
// Runs the kernels of the fused CPU step on Workspace::threads() threads, or on fewer if OpenMP
// gives fewer.
//
// Each thread computes consecutive items and sums on its own; the threads' sums are added in thread
// order. So results repeat bit for bit for a fixed number of threads, and differ in rounding
// between numbers of threads. Not thread-safe.

#include <cstdint>
#include <vector>

#include "ops/fused/kernels.h"

namespace shoal::ops::fused {

// Memory that an operation needs on each thread: `scratch` and `d_weights` in floats, `sums` in
// doubles.
struct Needs {
  int64_t scratch = 0, sums = 0, d_weights = 0;
  void include(const Needs& other);
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

// Return the number of rows of a tile (tile_rows) or of channels of a block that fit into the
// caches of a core.
int64_t tile_rows(int64_t in, int64_t out);
int64_t forward_block(const Depthwise&);
int64_t backward_block(const Depthwise&);
// Sets Dense::rows and Dense::input_rows so that their data fits into the caches of a core.
void choose_rows(Dense&);

// The memory of all threads.
class Workspace {
 public:
  Workspace(const Needs& needs, int threads, Storage storage)
      : needs_(needs), threads_(threads), loops_(&fused::loops(storage)) {}
  int64_t floats() const;                        // size of the memory
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

// The operations. Forward and backward leave sums for finish_norm() and finish_norm_backward() in
// the workspace, and backward leaves weight gradients for collect_gradient().
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
  double count = 0;  // rows of the batch
  double eps = 0, momentum = 0;
  const float *weight = nullptr, *bias = nullptr;
  const float *running_mean = nullptr, *running_var = nullptr;
  float* pending = nullptr;  // 2×channels; updated like BatchNormFinish::pending
  bool fixed = false;        // the running statistics are constants
};

// Computes mean, inv_std, scale and shift from the sums, and updates `pending`. If `fixed`, uses
// the running statistics instead and leaves `pending` unchanged.
void finish_norm(const NormState&, const Norm&, const Workspace&);
// Computes slope, pull and offset from the sums, and writes the gradients of weight and bias unless
// their pointer is nullptr.
void finish_norm_backward(const NormState&, const Norm&, float* d_weight, float* d_bias,
                          const Workspace&);

// Writes the out×in gradient that the last operation summed. `transposed`: the sums are
// in×padded(out), otherwise out×padded(in).
void collect_gradient(bool transposed, int64_t out, int64_t in, float* gradient, const Workspace&);
// The same for a Dense: out×kernel²×in.
void collect_gradient(const Dense&, float* gradient, const Workspace&);
// Packs the weights of a Dense, out×kernel²×in, into kernel² * padded(in) * padded(out) floats.
// `backward`: for run_input_gradient().
Packed pack_dense(const Dense&, const float* weights, bool backward, const Loops&, float* packed);

// Pack a matrix like Loops::pack and Loops::pack_pointwise. `packed` has depth * padded(width)
// floats.
Packed pack(const float* values, int64_t k_step, int64_t n_step, int64_t depth, int64_t width,
            float* packed);
Packed pack_pointwise(const Loops& loops, const float* values, int64_t k_step, int64_t n_step,
                      int64_t depth, int64_t width, float* packed);

// The two layers of squeeze-excite, in torchvision's layout.
struct SqueezeWeights {
  const float *weight1, *bias1, *weight2, *bias2;
};
struct SqueezeGradients {
  float *weight1, *bias1, *weight2, *bias2;  // nullptr: not wanted
};
// Returns the number of floats that the next two functions need in `memory`.
int64_t squeeze_floats(int64_t channels, int64_t squeezed);
// Packs the weights into `memory`, which `squeeze` then refers to.
void pack_squeeze(const SqueezeWeights&, int64_t channels, float* memory, Squeeze& squeeze);
// Computes the gradients of the weights. Call it after run_backward() of the Pointwise. Uses
// `memory` as scratch memory.
void squeeze_gradients(const Squeeze&, int64_t images, int64_t channels, float* memory,
                       const SqueezeGradients&);

// y = features × weightᵀ + bias. `features` is images×padded(in), `y` is images×padded(out) and
// 64-byte aligned; `weight` and `bias` are not padded.
struct Linear {
  int64_t images, in, out;
  const float *features, *weight, *bias;
};
// Returns the number of floats that run() and run_backward() need in `memory`.
int64_t linear_floats(const Linear&);
void run(const Linear&, float* memory, float* y);
// d_features: images×padded(in), or nullptr.
void run_backward(const Linear&, const float* dy, float* memory, float* d_features, float* d_weight,
                  float* d_bias);

}  // namespace shoal::ops::fused
