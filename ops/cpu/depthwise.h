#pragma once
// What depthwise.cpp (threads, dispatch) and the loops compiled for each instruction set agree on.

#include "ops/ops.h"

namespace shoal::ops::cpu_kernels {

// Rows or columns of the output for as many of the input. Static: it is compiled per instruction
// set.
static inline int64_t out_size(int64_t size, const Depthwise& op) {
  return (size + 2 * op.padding - op.kernel) / op.stride + 1;
}

struct DepthwiseLoops {
  // sums[(row * kernel + column) * channels + c] += the image's part; channels a multiple of 8.
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
