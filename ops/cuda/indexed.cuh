#pragma once
// for_each_index() calls a function for each index, in no particular order. nvcc compiles it to a
// kernel, other compilers to a plain loop. So tests can run the same sources on machines without a
// GPU (cuda_twin() in table.h). blocks.cuh does the same for threads that work together.
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
// Bytes of device memory for intermediate results.
constexpr size_t kScratchBytes = 32 << 20;
// Number of counters for Block::last_of().
constexpr int64_t kArrivals = 4096;

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
  if (error == cudaSuccess && !memory[device]) {
    constexpr size_t kBytes = kScratchBytes + kArrivals * sizeof(unsigned);
    void* allocated = nullptr;
    error = cudaMalloc(&allocated, kBytes);
    if (error == cudaSuccess) error = cudaMemset(allocated, 0, kBytes);
    if (error == cudaSuccess) error = cudaDeviceSynchronize();  // other streams do not wait for it
    if (error == cudaSuccess) memory[device] = static_cast<double*>(allocated);
  }
  require(error, "allocating GPU scratch memory");
  return memory[device];
}

#else

// Number of kernels that this thread has started.
inline int64_t& launches() {
  static thread_local int64_t count = 0;
  return count;
}

template <class F>
void for_each_index(int64_t n, const Launch&, const F& f) {
  if (n <= 0) return;
  ++launches();
  for (int64_t i = 0; i < n; ++i) f(i);
}

inline double* scratch() {
  static std::vector<double> memory(kScratchBytes / sizeof(double) + kArrivals);
  return memory.data();
}

#endif

// Returns kArrivals counters after the scratch memory. They are 0 between kernels.
inline unsigned* arrivals() {
  return reinterpret_cast<unsigned*>(scratch() + kScratchBytes / sizeof(double));
}

}  // namespace shoal::ops::cuda_kernels
