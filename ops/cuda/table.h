#pragma once
// The operations on a GPU. No CUDA headers here.

#include "ops/ops.h"

namespace shoal::ops {

// Compiled into the CUDA plug-in. depthwise_backward_weights is nullptr: use LibTorch's.
const Table& cuda_table();

// The same sources compiled to plain loops on the CPU, for tests on machines without a GPU.
const Table& cuda_twin();

}  // namespace shoal::ops
