#pragma once
// A small kernel that tests whether the GPU can run this program's kernels. Uses no LibTorch
// headers.

#include <cuda_runtime_api.h>

namespace shoal::cuda {

// Enqueues a kernel on `stream` that sets out[i] = i * factor for 0 <= i < n. `out`: device memory.
// Does not wait. Returns the launch error, or cudaSuccess.
cudaError_t fill_ramp(int* out, int n, int factor, cudaStream_t stream);

}  // namespace shoal::cuda
