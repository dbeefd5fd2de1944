// Runs the loops of the squeeze-excite gate on all threads. Each thread processes one image at a
// time.

#include <algorithm>

#include "ops/cpu/activations.h"
#include "ops/cpu/kernels.h"
#include "ops/reference/kernels.h"

namespace shoal::ops::cpu_kernels {
namespace {

// Returns the loop arguments for image n. `out`: the output (y or dx) of all images; nullptr: none.
GateRows image(const Gate& op, const void* dy, const void* out, int64_t n) {
  const int64_t elements = op.pixels * op.channels;
  const int64_t bytes = n * elements * bytes_per_element(op.type);
  const auto at = [bytes](const void* p) {
    return p ? static_cast<const char*>(p) + bytes : nullptr;
  };
  GateRows rows{};
  rows.rows = op.pixels;
  rows.channels = op.channels;
  rows.x = at(op.x);
  rows.dy = at(dy);
  rows.gate = op.gate ? static_cast<const float*>(op.gate) + n * op.channels : nullptr;
  rows.y = rows.dx = const_cast<char*>(at(out));
  rows.stream = out && worth_streaming(op.type, op.images * elements, rows.y, rows.y);
  return rows;
}

template <class Work>
void for_each_image(const Gate& op, Work work) {
#pragma omp parallel for schedule(static) if (worth_threads(op.images * op.pixels * op.channels))
  for (int64_t n = 0; n < op.images; ++n) work(n);
}

// Sets out[n, c] = factor * (the sum that `sum` computes for channel c of image n).
void column_sums(const Gate& op, const void* dy, void (*sum)(const GateRows&, double*),
                 double factor, void* out) {
  for_each_image(op, [&](int64_t n) {
    double sums[kMaxChannels];
    std::fill_n(sums, op.channels, 0.0);
    sum(image(op, dy, nullptr, n), sums);
    float* row = static_cast<float*>(out) + n * op.channels;
    for (int64_t c = 0; c < op.channels; ++c) row[c] = static_cast<float>(factor * sums[c]);
  });
}

}  // namespace

void pool(const Gate& op, void* pooled, void* stream) {
  const ActivationLoops* loops = activation_loops(op.type, op.channels);
  if (!loops) return reference_kernels::pool(op, pooled, stream);
  column_sums(op, nullptr, loops->gate_pool, 1 / static_cast<double>(op.pixels), pooled);
}

void gate_apply(const Gate& op, void* y, void* stream) {
  const ActivationLoops* loops = activation_loops(op.type, op.channels);
  if (!loops) return reference_kernels::gate_apply(op, y, stream);
  for_each_image(op, [&](int64_t n) { loops->gate_apply(image(op, nullptr, y, n)); });
}

void gate_backward_sums(const Gate& op, const void* dy, void* d_gate, void* stream) {
  const ActivationLoops* loops = activation_loops(op.type, op.channels);
  if (!loops) return reference_kernels::gate_backward_sums(op, dy, d_gate, stream);
  column_sums(op, dy, loops->gate_backward_sums, 1, d_gate);
}

void gate_backward_apply(const Gate& op, const void* dy, const void* d_pooled, void* dx,
                         void* stream) {
  const ActivationLoops* loops = activation_loops(op.type, op.channels);
  if (!loops) return reference_kernels::gate_backward_apply(op, dy, d_pooled, dx, stream);
  const float share = 1 / static_cast<float>(op.pixels);
  for_each_image(op, [&](int64_t n) {
    alignas(64) float offset[kMaxChannels];
    const float* mean_gradient = static_cast<const float*>(d_pooled) + n * op.channels;
    for (int64_t c = 0; c < op.channels; ++c) offset[c] = mean_gradient[c] * share;
    GateRows rows = image(op, dy, dx, n);
    rows.offset = offset;
    loops->gate_backward_apply(rows);
  });
}

}  // namespace shoal::ops::cpu_kernels
