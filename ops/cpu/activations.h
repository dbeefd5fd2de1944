#pragma once
// The loops over activations, compiled once per instruction set. batch_norm.cpp and gate.cpp choose
// a loop and split the work over threads. A loop processes consecutive rows of `channels` elements;
// `channels` is a multiple of 8. Loops that compute sums add them to double accumulators.

#include <cstdint>

#include "ops/ops.h"

namespace shoal::ops::cpu_kernels {

// Larger channel counts use the reference implementation, because the loops keep per-channel arrays
// on the stack.
constexpr int64_t kMaxChannels = 4096;

// Consecutive rows of a batch norm: z = x * scale + shift [+ residual], y = activation(z), dz = dy
// * activation'(z).
struct NormRows {
  Activation activation;
  int64_t rows, channels;
  const void *x, *residual, *dy;  // residual may be nullptr
  const float *scale, *shift;     // channels
  const float *slope, *offset;    // channels: dx = scale * dz + slope * x + offset
  const float* mean;              // channels
  void *y, *dx, *d_residual;      // d_residual may be nullptr
  bool stream;                    // write all outputs with non-temporal stores
};

// One image, or a part of one: y = x * gate.
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

// Index 0 is f32, 1 is bf16. The AVX2 loops use fused multiply-add and an approximate reciprocal;
// the portable loops round twice and divide. So their outputs differ, by at most 4 float epsilons
// times the sum of the terms' magnitudes (for y: |x * scale| + |shift|), plus the rounding to bf16.
namespace portable {
extern const ActivationLoops kActivationLoops[2];
}
namespace avx2 {
extern const ActivationLoops kActivationLoops[2];
}

// Returns the loops for this processor, or nullptr if there are none for this element type and
// number of channels.
const ActivationLoops* activation_loops(Type type, int64_t channels);

// Bytes of one element of the types that have loops: f32 and bf16.
int64_t bytes_per_element(Type type);

// Whether to write outputs with non-temporal stores: if they are large and 32-byte aligned.
// `elements`: size of one output. `a` and `b`: the outputs; if there is only one, `b` is `a` or
// nullptr.
bool worth_streaming(Type type, int64_t elements, const void* a, const void* b);

// The rows [begin, end) that one thread processes. `begin` is a multiple of 8 or the end of all
// rows.
struct Share {
  int64_t begin, end;
};
Share share_of(int64_t rows, int thread, int threads);

// Whether the operation has enough elements to justify waking other threads.
bool worth_threads(int64_t elements);

}  // namespace shoal::ops::cpu_kernels
