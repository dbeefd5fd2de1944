#pragma once
// The loops over activations, which are compiled once per instruction set. batch_norm.cpp and
// gate.cpp call them on all threads. A loop processes consecutive rows of `channels` elements;
// `channels` is a multiple of 8. Sums are added to the caller's doubles.

#include <cstdint>

#include "ops/ops.h"

namespace shoal::ops::cpu_kernels {

// With more channels, the reference implementation is used: the loops keep per-channel arrays on
// the stack.
constexpr int64_t kMaxChannels = 4096;

// Consecutive rows of a batch norm: z = x * scale + shift [+ residual], y = activation(z) and
// dz = dy * activation'(z).
struct NormRows {
  Activation activation;
  int64_t rows, channels;
  const void *x, *residual, *dy;  // residual may be nullptr
  const float *scale, *shift;     // one per channel
  const float *slope, *offset;    // one per channel: dx = scale * dz + slope * x + offset
  const float* mean;              // one per channel
  void *y, *dx, *d_residual;      // d_residual may be nullptr
  bool stream;                    // write all outputs with non-temporal stores
};

// Consecutive pixels of one image; row r holds the channels of pixel r. y = x * gate.
struct GateRows {
  int64_t rows, channels;
  const void *x, *dy;
  const float *gate, *offset;  // one per channel: dx = dy * gate + offset
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

// Loops for f32 (index 0) and bf16 (index 1). The AVX2 loops use fused multiply-add and an
// approximate reciprocal; the portable loops use division and round after each operation. The
// outputs of the two differ by at most 4 float epsilons times the sum of the terms' magnitudes (for
// y: |x * scale| + |shift|), plus the rounding to bf16.
namespace portable {
extern const ActivationLoops kActivationLoops[2];
}
namespace avx2 {
extern const ActivationLoops kActivationLoops[2];
}

// Returns the loops for this processor. Returns nullptr for f64, and if `channels` is not a
// multiple of 8 or is above kMaxChannels.
const ActivationLoops* activation_loops(Type type, int64_t channels);

// Returns the size of an element in bytes. `type` must be f32 or bf16.
int64_t bytes_per_element(Type type);

// Whether to write the outputs with non-temporal stores. True if each output is 32-byte aligned and
// exceeds the caches (exceeds_caches() in ops.h). `elements`: size of each output. `a`, `b`: the
// outputs; if there is only one, pass `a` or nullptr as `b`.
bool worth_streaming(Type type, int64_t elements, const void* a, const void* b);

// The rows [begin, end) that one thread processes. `begin` is a multiple of 8, or `rows` if the
// share is empty.
struct Share {
  int64_t begin, end;
};
Share share_of(int64_t rows, int thread, int threads);

// Whether the operation has enough elements to justify waking other threads.
bool worth_threads(int64_t elements);

}  // namespace shoal::ops::cpu_kernels
