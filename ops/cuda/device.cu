#include "ops/cuda/device.h"

namespace shoal::cuda {

namespace {

__global__ void fill_ramp_kernel(int* out, int n, int factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i * factor;
}

}  // namespace

cudaError_t fill_ramp(int* out, int n, int factor, cudaStream_t stream) {
  constexpr int kThreads = 256;
  fill_ramp_kernel<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(out, n, factor);
  return cudaGetLastError();
}

}  // namespace shoal::cuda
