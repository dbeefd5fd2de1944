#pragma once
// Interface between depthwise.cpp, which chooses a loop and splits the images over threads, and the
// loops, which are compiled once per instruction set.

#include "ops/ops.h"

namespace shoal::ops::cpu_kernels {

// Returns the number of output rows (or columns) for `size` input rows (or columns). `static`, so
// the linker cannot choose the copy of another instruction set.
static inline int64_t out_size(int64_t size, const Depthwise& op) {
  return (size + 2 * op.padding - op.kernel) / op.stride + 1;
}

struct DepthwiseLoops {
  // Add the weight gradient of one image to sums[(row * kernel + column) * channels + c]. `x` and
  // `dy` belong to this image. op.channels is a multiple of 8.
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
