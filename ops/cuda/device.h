#pragma once
// A kernel that shows whether a GPU runs our code at all. No torch headers. Errors are cudaError_t
// values.

#include <cuda_runtime_api.h>

namespace shoal::cuda {

// out[i] = i * factor for i below n, on `stream`.
cudaError_t fill_ramp(int* out, int n, int factor, cudaStream_t stream);

}  // namespace shoal::cuda
