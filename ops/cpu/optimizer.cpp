// Runs the optimizers on all threads. Each thread processes one contiguous share of the flat
// buffers, segment by segment, in blocks. A block is so small that its new parameters are still in
// the cache when they are copied to bf16. Optimizers with a trust ratio process one segment after
// another, each on all threads. Results are bit-identical for any thread count: updates are
// element-wise, and the partial sums do not depend on the thread count.

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "base/round.h"
#include "ops/cpu/isa.h"
#include "ops/cpu/kernels.h"
#include "ops/cpu/optimizer_range.h"

namespace shoal::ops::cpu_kernels {
namespace {

constexpr int64_t kAlign = 16;       // elements; each share begins at a multiple of kAlign
constexpr int64_t kBlock = 4096;     // elements; five float buffers of this size fit in L2
constexpr int kPartialSums = 256;    // maximum number of partial sums of a norm
constexpr int64_t kSmall = 1 << 15;  // elements; buffers up to this size use one thread

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

// Calls work(segment, from, to) for the part of each segment that lies in [begin, end), in blocks
// of at most kBlock elements.
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

void write_copy(const OptimizerStep& step, int64_t begin, int64_t end) {
  if (step.copy == nullptr) return;
  loops_of(step.type).copy_bf16(step.parameters, step.copy, begin, end);
}

// Runs both passes of a rule with a trust ratio. A thread processes the same chunks in both passes,
// so the second pass finds small segments in the thread's cache.
void update_in_two_passes(const OptimizerStep& step, const Segment& segment,
                          const OptimizerLoops::Passes& passes) {
  const int64_t chunk =
      std::max(kBlock, round_up(ceil_divide<int64_t>(segment.length, kPartialSums), kAlign));
  const int64_t chunks = ceil_divide(segment.length, chunk);
  const auto range = [&](int64_t k, const SquaredNorms& norms) {
    const int64_t begin = k * chunk, end = std::min(begin + chunk, segment.length);
    return OptimizerRange{&step, &segment, segment.offset + begin, segment.offset + end, norms};
  };
  SquaredNorms partial[kPartialSums], norms;
#pragma omp parallel for schedule(static) if (segment.length > kSmall)
  for (int64_t k = 0; k < chunks; ++k) partial[k] = passes.track(range(k, {}));
  for (int64_t k = 0; k < chunks; ++k) {
    norms.parameters += partial[k].parameters;
    norms.changes += partial[k].changes;
  }
#pragma omp parallel for schedule(static) if (segment.length > kSmall)
  for (int64_t k = 0; k < chunks; ++k) {
    const OptimizerRange part = range(k, norms);
    passes.update(part);
    write_copy(step, part.begin, part.end);
  }
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

void optimize(const OptimizerStep& step, void*) {
  if (step.non_finite != nullptr && *step.non_finite != 0) return;
  const OptimizerLoops::Passes& passes = loops_of(step.type).passes[static_cast<int>(step.kind)];
  if (passes.track != nullptr) {
    for (int64_t i = 0; i < step.segment_count; ++i)
      update_in_two_passes(step, step.segments[i], passes);
    return;
  }
  share(step.total, [&](int64_t begin, int64_t end) {
    for_each_block(step, begin, end, [&](const Segment& segment, int64_t from, int64_t to) {
      passes.update({&step, &segment, from, to, {}});
      write_copy(step, from, to);
    });
  });
}

void ema(Type type, void* average, const void* parameters, int64_t total, double decay,
         const int32_t* non_finite, void*) {
  if (non_finite != nullptr && *non_finite != 0) return;
  const OptimizerLoops& loops = loops_of(type);
  share(total,
        [&](int64_t begin, int64_t end) { loops.ema(average, parameters, begin, end, decay); });
}

}  // namespace shoal::ops::cpu_kernels
