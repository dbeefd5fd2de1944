#pragma once
// The one way in which the CUDA operations reach the GPU: a function is called for each index, in
// no order. nvcc makes a kernel of it; any other compiler a plain loop, and so the same sources are
// tested on machines without a GPU (the table "twin").
//
// Launches do not wait, throw or return an error: LibTorch's next launch reports one that failed.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/both.h"

#ifdef __CUDACC__
#include <stdexcept>
#include <string>
#else
#include <vector>
#endif

namespace shoal::ops::cuda_kernels {

// Enough threads to fill a large GPU, several times over.
constexpr int64_t kManyThreads = 1 << 19;
// Partial sums that the threads of a reduction leave to be added up. A thread leaves eight or sixteen
// of them and has 16 or 32 bytes on their way, so that four megabytes or more are on their way at a
// time, which the memory of a large GPU wants.
constexpr int64_t kPartialSums = 1 << 22;
// Memory of a device for them, and for what adding them up leaves in between.
constexpr size_t kScratchBytes = kPartialSums * sizeof(double) / 32 * 33;

#ifdef __CUDACC__

template <class F>
__global__ void call_for_index(int64_t n, F f) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}

template <class F>
void for_each_index(int64_t n, void* stream, const F& f) {
  constexpr int kThreads = 256;
  if (n <= 0) return;
  const auto blocks = static_cast<unsigned>((n + kThreads - 1) / kThreads);
  call_for_index<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(n, f);
}

// kScratchBytes of the current device, made at the first call for it, which must not fall into the
// capture of a graph. Operations that run at the same time, on two streams of a device, would
// disturb one another. Throws std::runtime_error when there is no memory.
inline double* scratch() {
  constexpr int kMostDevices = 64;
  static double* memory[kMostDevices] = {};
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess && device >= kMostDevices) error = cudaErrorInvalidDevice;
  if (error == cudaSuccess && !memory[device]) error = cudaMalloc(&memory[device], kScratchBytes);
  if (error != cudaSuccess)
    throw std::runtime_error(std::string("memory of a GPU for sums: ") + cudaGetErrorString(error));
  return memory[device];
}

#else

template <class F>
void for_each_index(int64_t n, void*, const F& f) {
  for (int64_t i = 0; i < n; ++i) f(i);
}

inline double* scratch() {
  static std::vector<double> memory(kScratchBytes / sizeof(double));
  return memory.data();
}

#endif

}  // namespace shoal::ops::cuda_kernels
