#pragma once
// A kernel that checks whether the GPU can run our code. No torch headers. Errors are cudaError_t
// values.

#include <cuda_runtime_api.h>

namespace shoal::cuda {

// Sets out[i] = i * factor for 0 <= i < n, on `stream`.
cudaError_t fill_ramp(int* out, int n, int factor, cudaStream_t stream);

}  // namespace shoal::cuda
