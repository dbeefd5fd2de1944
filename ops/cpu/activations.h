#pragma once
// What the drivers (batch_norm.cpp, gate.cpp: threads, dispatch) and the loops over activations
// compiled for each instruction set agree on. A loop works on consecutive rows of `channels`
// values, channels a multiple of 8. Sums are added to double accumulators.

#include <cstdint>

#include "ops/ops.h"

namespace shoal::ops::cpu_kernels {

// More go to the reference: the vectors below live on the stack.
constexpr int64_t kMaxChannels = 4096;

// Part of a batch norm: z = x * scale + shift [+ residual], y = activation(z).
struct NormRows {
  Activation activation;
  int64_t rows, channels;
  const void *x, *residual, *dy;  // residual may be nullptr
  const float *scale, *shift;     // channels
  const float *slope, *offset;    // channels: dx = scale * dz + slope * x + offset
  const float* mean;              // channels
  void *y, *dx, *d_residual;      // d_residual may be nullptr
  bool stream;                    // write y and dx past the caches
};

// One image (or part of one): y = x * gate.
struct GateRows {
  int64_t rows, channels;
  const void *x, *dy;
  const float *gate, *offset;  // channels: dx = dy * gate + offset
  void *y, *dx;
  bool stream;
};

struct ActivationLoops {
  // sums[c] += Σ (x - origin), sums[channels + c] += Σ (x - origin)².
  void (*norm_sums)(const void* x, int64_t rows, int64_t channels, const float* origin,
                    double* sums);
  void (*norm_apply)(const NormRows&);
  // sums[c] += Σ dz, sums[channels + c] += Σ dz * (x - mean).
  void (*norm_backward_sums)(const NormRows&, double* sums);
  void (*norm_backward_apply)(const NormRows&);
  // sums[c] += Σ x.
  void (*gate_pool)(const GateRows&, double* sums);
  void (*gate_apply)(const GateRows&);
  // sums[c] += Σ dy * x.
  void (*gate_backward_sums)(const GateRows&, double* sums);
  void (*gate_backward_apply)(const GateRows&);
};

// [0] f32, [1] bf16. AVX2 multiplies and adds with one rounding, the portable loops with two, and
// they divide in different ways: outputs differ by at most 4 epsilon of float times the sum of the
// terms' magnitudes (y: |x * scale| + |shift|), and then by bf16's rounding.
namespace portable {
extern const ActivationLoops kActivationLoops[2];
}
namespace avx2 {
extern const ActivationLoops kActivationLoops[2];
}

// The loops for this processor, or nullptr where type and channels have none.
const ActivationLoops* activation_loops(Type type, int64_t channels);

// Outputs larger than this are written past the caches: whoever reads them next finds them in
// memory anyway.
constexpr int64_t kStreamBytes = 8 << 20;
bool worth_streaming(Type type, int64_t elements, const void* a, const void* b);

// A thread's share of `rows`, in multiples of 8.
struct Share {
  int64_t begin, end;
};
Share share_of(int64_t rows, int thread, int threads);

// Whether waking the other threads pays for so many elements.
bool worth_threads(int64_t elements);

}  // namespace shoal::ops::cpu_kernels
