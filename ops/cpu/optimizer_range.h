#pragma once
// Interface between optimizer.cpp, which splits the flat buffers over threads, and the loops, which
// are compiled once per instruction set.

#include "ops/ops.h"

namespace shoal::ops::cpu_kernels {

// Sums of squares of the parameters and of their changes (without the trust ratio).
struct SquaredNorms {
  double parameters = 0, changes = 0;
};

// A range of elements of one segment.
struct OptimizerRange {
  const OptimizerStep* step;
  const Segment* segment;
  int64_t begin, end;  // range in the flat buffers, inside the segment
  SquaredNorms norms;  // norms of the whole segment; only for the second pass (Passes::update)
};

struct OptimizerLoops {
  struct Passes {
    void (*update)(const OptimizerRange&);  // the only pass, or the second one after `track`
    // First pass of a rule with a trust ratio; returns the range's sums. nullptr for other rules.
    SquaredNorms (*track)(const OptimizerRange&);
  };
  Passes passes[kOptimizerCount];  // index: OptimizerKind
  void (*ema)(void* average, const void* parameters, int64_t begin, int64_t end, double decay);
  double (*sum_squares)(const void* values, int64_t begin, int64_t end);
  void (*copy_bf16)(const void* parameters, void* copy, int64_t begin, int64_t end);
};

// Index 0 is float, 1 is double. There are no AVX-512 loops: the optimizers are memory-bound, so
// wider registers would not help.
namespace portable {
extern const OptimizerLoops kLoops[2];
}
namespace avx2 {
extern const OptimizerLoops kLoops[2];
}

}  // namespace shoal::ops::cpu_kernels
