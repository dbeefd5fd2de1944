#pragma once
// The two tables of the CUDA operations: one for GPUs, one for tests on the CPU. In both,
// depthwise_backward_weights is nullptr, because LibTorch computes this gradient on GPUs. Includes
// no CUDA headers.

#include "ops/ops.h"

namespace shoal::ops {

// The kernels for GPUs. Only the CUDA plug-in contains this function.
const Table& cuda_table();

// The same sources, compiled as plain CPU loops, for tests on machines without a GPU.
const Table& cuda_twin();

}  // namespace shoal::ops
