#pragma once
// for_each_index() calls a function for each index, in no particular order. All CUDA operations use
// it. nvcc compiles it to a kernel, other compilers to a plain loop. So tests can run the same
// sources on machines without a GPU (cuda_twin() in table.h).
//
// Launches are asynchronous. If a running kernel fails, a later CUDA call reports the error. If
// that call is a launch, the error names the wrong kernel. To see the right name, set the
// environment variable CUDA_LAUNCH_BLOCKING=1. The CUDA runtime then waits for each kernel when it
// is launched, but not for kernels in a CUDA graph.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/both.h"

#ifdef __CUDACC__
#include <stdexcept>
#include <string>
#else
#include <vector>
#endif

namespace shoal::ops::cuda_kernels {

// Enough threads to fill a large GPU several times over.
constexpr int64_t kManyThreads = 1 << 19;
// Maximum number of partial sums of a reduction. A thread has at least 1 byte of loads in flight
// for each partial sum that it computes. So this many sums keep at least 4 MB of loads in flight,
// as much as a large GPU needs to reach its memory bandwidth.
constexpr int64_t kPartialSums = 1 << 22;
// Bytes of device memory for the partial sums and the intermediate results of adding them up.
constexpr size_t kScratchBytes = kPartialSums * sizeof(double) / 32 * 33;

// Where to launch a kernel, and the name that errors give it. A function that takes a Launch is
// called with a stream. The implicit conversion then adds the name of the calling function.
struct Launch {
  Launch(void* s, const char* c = __builtin_FUNCTION()) : stream(s), caller(c) {}
  void* stream;        // a cudaStream_t; not used on the CPU
  const char* caller;  // "typed_ema<float>"
};

#ifdef __CUDACC__

inline void require(cudaError_t error, const char* operation, const char* caller = "") {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string(operation) + caller +
                             " failed: " + cudaGetErrorString(error));
}

template <class F>
__global__ void call_for_index(int64_t n, F f) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}

// Throws std::runtime_error, with the caller's name, if the kernel cannot be started.
template <class F>
void for_each_index(int64_t n, const Launch& launch, const F& f) {
  constexpr int kThreads = 256;
  if (n <= 0) return;
  const auto blocks = static_cast<unsigned>((n + kThreads - 1) / kThreads);
  call_for_index<<<blocks, kThreads, 0, static_cast<cudaStream_t>(launch.stream)>>>(n, f);
  require(cudaGetLastError(), "starting the GPU kernel of ", launch.caller);
}

// Returns kScratchBytes of memory on the current device. The first call on each device allocates it
// and must not happen during graph capture. All operations on a device share this memory, so they
// must not run concurrently on two streams. Not thread-safe. Throws std::runtime_error if the
// allocation fails.
inline double* scratch() {
  constexpr int kMaxDevices = 64;
  static double* memory[kMaxDevices] = {};
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess && device >= kMaxDevices) error = cudaErrorInvalidDevice;
  if (error == cudaSuccess && !memory[device]) error = cudaMalloc(&memory[device], kScratchBytes);
  require(error, "allocating GPU scratch memory");
  return memory[device];
}

#else

template <class F>
void for_each_index(int64_t n, const Launch&, const F& f) {
  for (int64_t i = 0; i < n; ++i) f(i);
}

inline double* scratch() {
  static std::vector<double> memory(kScratchBytes / sizeof(double));
  return memory.data();
}

#endif

}  // namespace shoal::ops::cuda_kernels
