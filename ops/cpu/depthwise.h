#pragma once
// Interface between depthwise.cpp (threads and dispatch) and the loops, which are compiled once per
// instruction set.

#include "ops/ops.h"

namespace shoal::ops::cpu_kernels {

// Number of output rows (or columns) for `size` input rows (or columns). Static, because it is
// compiled once per instruction set.
static inline int64_t out_size(int64_t size, const Depthwise& op) {
  return (size + 2 * op.padding - op.kernel) / op.stride + 1;
}

struct DepthwiseLoops {
  // sums[(row * kernel + column) * channels + c] += the contribution of one image. `channels` is a
  // multiple of 8.
  void (*kernel3)(const Depthwise&, const float* x, const float* dy, float* sums);
  void (*kernel5)(const Depthwise&, const float* x, const float* dy, float* sums);
};

namespace portable {
extern const DepthwiseLoops kDepthwiseLoops;
}
namespace avx2 {
extern const DepthwiseLoops kDepthwiseLoops;
}

}  // namespace shoal::ops::cpu_kernels
