#pragma once
// Runs the kernels of the fused CPU step on Workspace::threads() threads, or on fewer if OpenMP
// gives fewer.
//
// Each thread computes consecutive work items and has its own sums. The threads' sums are added in
// thread order. So results repeat bit for bit for a fixed number of threads, and another number of
// threads changes only the rounding. Not thread-safe.

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

// tile_rows() returns the number of rows of a Pointwise tile, the others return the number of
// channels of a Depthwise block. Tiles and blocks of this size fit into the caches of a core.
int64_t tile_rows(int64_t in, int64_t out);
int64_t forward_block(const Depthwise&);
int64_t backward_block(const Depthwise&);
// Sets Dense::rows and Dense::input_rows, so that rows that are processed together fit into the
// caches of a core.
void choose_rows(Dense&);

// The memory of all threads, and the loops that they run.
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

// The operations. run() leaves sums for finish_norm() in the workspace. Backward leaves sums for
// finish_norm_backward() and weight gradients for collect_gradient() there. The next operation
// overwrites them.
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

// Writes the out×in weight gradient that the last operation summed. `transposed`: the sums in the
// workspace are in×padded(out), otherwise out×padded(in).
void collect_gradient(bool transposed, int64_t out, int64_t in, float* gradient, const Workspace&);
// The same for a Dense, whose weight gradient is out×kernel²×in.
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
// Packs the weights into `memory` and makes `squeeze` point to them.
void pack_squeeze(const SqueezeWeights&, int64_t channels, float* memory, Squeeze& squeeze);
// Computes the gradients of the weights and biases. Call it after run_backward() of the Pointwise.
// Uses `memory` as scratch memory.
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
// dy: images×padded(out). d_features: images×padded(in). Any of the three gradients may be nullptr.
void run_backward(const Linear&, const float* dy, float* memory, float* d_features, float* d_weight,
                  float* d_bias);

}  // namespace shoal::ops::fused
