// Runs the loops for the weight gradient of depthwise convolutions on all threads. Each thread
// processes consecutive images. It sums in float within an image and in double over its images. The
// threads' sums are added in thread order.

#include "ops/cpu/depthwise.h"

#include <omp.h>

#include <algorithm>

#include "ops/cpu/activations.h"
#include "ops/cpu/isa.h"
#include "ops/cpu/kernels.h"
#include "ops/reference/kernels.h"

namespace shoal::ops::cpu_kernels {
namespace {

constexpr int kMaxParts = 256;
// Maximum of channels * kernel²: each thread keeps its sums on the stack.
constexpr int64_t kMaxWeights = 1 << 16;

}  // namespace

void depthwise_backward_weights(const Depthwise& op, const void* x, const void* dy, void* d_weight,
                                void* stream) {
  const int64_t taps = op.kernel * op.kernel, weights = op.channels * taps;
  if (op.type != Type::f32 || op.channels % 8 != 0 || weights > kMaxWeights ||
      (op.kernel != 3 && op.kernel != 5)) {
    return reference_kernels::depthwise_backward_weights(op, x, dy, d_weight, stream);
  }
  const DepthwiseLoops& loops = *best_isa().depthwise;
  const auto sum_image = op.kernel == 3 ? loops.kernel3 : loops.kernel5;
  const int64_t x_size = op.height * op.width * op.channels;
  const int64_t dy_size = out_size(op.height, op) * out_size(op.width, op) * op.channels;
  const double* partial[kMaxParts];
  const int wanted = static_cast<int>(std::min<int64_t>(
      {omp_get_max_threads(), kMaxParts, worth_threads(op.images * x_size) ? op.images : 1}));
#pragma omp parallel num_threads(std::max(wanted, 1))
  {
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    alignas(64) float one[kMaxWeights];
    alignas(64) double own[kMaxWeights];
    std::fill_n(own, weights, 0.0);
    partial[thread] = own;
    const int64_t begin = op.images * thread / threads;
    const int64_t end = op.images * (thread + 1) / threads;
    for (int64_t n = begin; n < end; ++n) {
      std::fill_n(one, weights, 0.0f);
      sum_image(op, static_cast<const float*>(x) + n * x_size,
                static_cast<const float*>(dy) + n * dy_size, one);
      for (int64_t i = 0; i < weights; ++i) own[i] += one[i];
    }
#pragma omp barrier
#pragma omp for schedule(static)
    for (int64_t c = 0; c < op.channels; ++c) {
      for (int64_t t = 0; t < taps; ++t) {
        double total = 0;
        for (int k = 0; k < threads; ++k) total += partial[k][t * op.channels + c];
        static_cast<float*>(d_weight)[c * taps + t] = static_cast<float>(total);
      }
    }  // implicit barrier: keeps `own` alive until all threads have read it
  }
}

}  // namespace shoal::ops::cpu_kernels
