#pragma once
// A small kernel that tests whether the GPU can run this program's kernels. Uses no torch headers;
// returns errors as cudaError_t.

#include <cuda_runtime_api.h>

namespace shoal::cuda {

// Enqueues a kernel on `stream` that sets out[i] = i * factor for 0 <= i < n. `out`: device memory.
// Returns the error of the launch.
cudaError_t fill_ramp(int* out, int n, int factor, cudaStream_t stream);

}  // namespace shoal::cuda
