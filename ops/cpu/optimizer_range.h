#pragma once
// Interface between optimizer.cpp, which splits the flat buffers over threads, and the loops, which
// are compiled once per instruction set.

#include "ops/ops.h"

namespace shoal::ops::cpu_kernels {

// A part of one segment, with the values that are the same for the whole segment.
struct OptimizerRange {
  const OptimizerStep* step;
  const Segment* segment;
  int64_t begin, end;       // elements of the flat buffers, inside the segment
  double factor;            // multiplies the gradients (clipping)
  double correction1;       // AdamW: 1 - beta1^n, where n = step - first_step
  double root_correction2;  // AdamW: sqrt(1 - beta2^n)
};

struct OptimizerLoops {
  void (*sgd)(const OptimizerRange&);
  void (*rmsprop_tf)(const OptimizerRange&);
  void (*adamw)(const OptimizerRange&);
  void (*ema)(void* average, const void* parameters, int64_t begin, int64_t end, double decay);
  double (*sum_squares)(const void* gradients, int64_t begin, int64_t end);
  void (*copy_bf16)(const void* parameters, void* copy, int64_t begin, int64_t end);
  void (*copy_f16)(const void* parameters, void* copy, int64_t begin, int64_t end);
};

// Index 0 is float, 1 is double. Registers wider than AVX2's would not help, because the passes are
// memory-bound.
namespace portable {
extern const OptimizerLoops kLoops[2];
}
namespace avx2 {
extern const OptimizerLoops kLoops[2];
}

}  // namespace shoal::ops::cpu_kernels
