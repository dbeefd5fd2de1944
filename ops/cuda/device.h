#pragma once
// A small kernel that tests whether the GPU can run this program's kernels. Uses no torch headers;
// returns errors as cudaError_t.

#include <cuda_runtime_api.h>

namespace shoal::cuda {

// Sets out[i] = i * factor for 0 <= i < n, on `stream`.
cudaError_t fill_ramp(int* out, int n, int factor, cudaStream_t stream);

}  // namespace shoal::cuda
