// Runs the optimizer passes on all threads. The flat buffers are split into equal consecutive
// shares, one per thread, at multiples of 16 elements. A thread processes its share segment by
// segment, in blocks small enough that the low-precision copy reads the new parameters from the
// cache. Results are bit-identical for any thread count: the passes are element-wise, and the norm
// always uses the same number of partial sums.

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "base/round.h"
#include "ops/cpu/isa.h"
#include "ops/cpu/kernels.h"
#include "ops/cpu/optimizer_range.h"

namespace shoal::ops::cpu_kernels {
namespace {

constexpr int64_t kAlign = 16;       // elements; 64 bytes of float
constexpr int64_t kBlock = 4096;     // elements; five float buffers of this size fit in L2
constexpr int kPartialSums = 256;    // number of partial sums of the norm
constexpr int64_t kSmall = 1 << 15;  // elements; up to this many are processed by one thread

const OptimizerLoops& loops_of(Type type) {
  return best_isa().optimizer[type == Type::f64 ? 1 : 0];
}

// Calls work(begin, end) on each thread with its share of [0, total).
template <typename Work>
void share(int64_t total, Work work) {
#pragma omp parallel if (total > kSmall)
  {
    const int64_t threads = omp_get_num_threads();
    const int64_t length = round_up(ceil_divide<int64_t>(total, threads), kAlign);
    const int64_t begin = omp_get_thread_num() * length;
    const int64_t end = std::min(begin + length, total);
    if (begin < end) work(begin, end);
  }
}

// Calls work(segment, begin, end) for each segment's part of [begin, end), in blocks.
template <typename Work>
void for_each_block(const OptimizerStep& step, int64_t begin, int64_t end, Work work) {
  const Segment* last = step.segments + step.segment_count;
  const Segment* segment = std::partition_point(
      step.segments, last, [begin](const Segment& s) { return s.offset + s.length <= begin; });
  for (; segment != last && segment->offset < end; ++segment) {
    const int64_t segment_end = std::min(end, segment->offset + segment->length);
    for (int64_t i = std::max(begin, segment->offset); i < segment_end; i += kBlock) {
      work(*segment, i, std::min(i + kBlock, segment_end));
    }
  }
}

using Loop = void (*)(const OptimizerRange&);

void run(const OptimizerStep& step, Loop OptimizerLoops::*which) {
  if (step.non_finite != nullptr && *step.non_finite != 0) return;
  const OptimizerLoops& loops = loops_of(step.type);
  const double factor =
      step.gradient_norm == nullptr ? 1 : std::fmin(1.0, step.clip / (*step.gradient_norm + 1e-6));
  const auto write_copy = step.copy_type == Type::bf16 ? loops.copy_bf16 : loops.copy_f16;
  share(step.total, [&](int64_t begin, int64_t end) {
    for_each_block(step, begin, end, [&](const Segment& segment, int64_t from, int64_t to) {
      const auto steps = static_cast<double>(step.step - segment.first_step);
      (loops.*which)({&step, &segment, from, to, factor, 1 - std::pow(step.beta1, steps),
                      std::sqrt(1 - std::pow(step.beta2, steps))});
      if (step.copy != nullptr) write_copy(step.parameters, step.copy, from, to);
    });
  });
}

}  // namespace

void gradient_norm(Type type, const void* gradients, int64_t total, double* norm,
                   int32_t* non_finite, void*) {
  const OptimizerLoops& loops = loops_of(type);
  const int64_t length = round_up(ceil_divide<int64_t>(total, kPartialSums), kAlign);
  double partial[kPartialSums];
#pragma omp parallel for schedule(static) if (total > kSmall)
  for (int k = 0; k < kPartialSums; ++k) {
    const int64_t begin = std::min(k * length, total);
    partial[k] = loops.sum_squares(gradients, begin, std::min(begin + length, total));
  }
  double sum = 0;
  for (double value : partial) sum += value;
  *norm = std::sqrt(sum);
  if (!std::isfinite(*norm)) *non_finite = 1;
}

void sgd(const OptimizerStep& step, void*) {
  run(step, &OptimizerLoops::sgd);
}
void rmsprop_tf(const OptimizerStep& step, void*) {
  run(step, &OptimizerLoops::rmsprop_tf);
}
void adamw(const OptimizerStep& step, void*) {
  run(step, &OptimizerLoops::adamw);
}

void ema(Type type, void* average, const void* parameters, int64_t total, double decay,
         const int32_t* non_finite, void*) {
  if (non_finite != nullptr && *non_finite != 0) return;
  const OptimizerLoops& loops = loops_of(type);
  share(total,
        [&](int64_t begin, int64_t end) { loops.ema(average, parameters, begin, end, decay); });
}

}  // namespace shoal::ops::cpu_kernels
