#pragma once
// The table of the operations on a GPU. This header includes no CUDA headers.

#include "ops/ops.h"

namespace shoal::ops {

// Compiled into the CUDA plug-in. Its depthwise_backward_weights is nullptr: callers use LibTorch.
const Table& cuda_table();

// The same sources compiled to plain loops on the CPU, for tests on machines without a GPU.
const Table& cuda_twin();

}  // namespace shoal::ops
