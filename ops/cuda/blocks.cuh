#pragma once
// for_each_block() calls a function for each block of a kernel. The threads of a block share memory
// and work in steps; after each step they wait for each other.
//
// Other compilers than nvcc compile such a kernel to loops. There, the blocks run one after
// another, and so do the threads in each step, in an order that changes from step to step. If a
// thread uses what another one writes in the same step, or shared memory that nobody has written,
// the tests of the operations get wrong results (cuda_twin() in table.h). The tests
// do not detect a barrier that only some threads reach, or a missing memory fence between blocks.

#include <cstdint>
#include <cstring>

#include "base/both.h"
#include "ops/cuda/indexed.cuh"

#ifndef __CUDACC__
#include <memory>
#endif

namespace shoal::ops::cuda_kernels {

constexpr int kBlockThreads = 256;

#ifdef __CUDACC__

class Block {
 public:
  __device__ int64_t index() const { return blockIdx.x; }

  // A step: calls f(thread) for each thread, from 0 to kBlockThreads - 1. All threads must make the
  // same calls of each() and last_of().
  template <class F>
  __device__ void each(const F& f) const {
    f(static_cast<int>(threadIdx.x));
    __syncthreads();
  }

  // Returns true in the last of `count` blocks that call it, and false in the others. In that
  // block, the next step sees what all `count` blocks have written to device memory. `arrived`: one
  // of arrivals(), which only these blocks use. It is 0 before and afterwards.
  __device__ bool last_of(unsigned* arrived, unsigned count) const {
    bool last = false;
    if (threadIdx.x == 0) {
      __threadfence();
      last = atomicInc(arrived, count - 1) == count - 1;
      __threadfence();
    }
    return __syncthreads_or(last);
  }
};

// Adds to one value, to which other blocks add at the same time.
__device__ inline void add_to(double* sum, double value) {
  atomicAdd(sum, value);
}
__device__ inline void add_to(int64_t* sum, int64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(value));
}

template <class Shared, class F>
__global__ void __launch_bounds__(kBlockThreads, 2) call_for_block(F f) {
  __shared__ Shared shared;
  f(Block(), shared);
}

// Calls f(block, shared) for each of `blocks` blocks, in no particular order. `shared` is memory of
// one block; its content is undefined at first. Throws std::runtime_error, with the caller's name,
// if the kernel cannot be started.
template <class Shared, class F>
void for_each_block(int64_t blocks, const Launch& launch, const F& f) {
  if (blocks <= 0) return;
  const auto stream = static_cast<cudaStream_t>(launch.stream);
  call_for_block<Shared><<<static_cast<unsigned>(blocks), kBlockThreads, 0, stream>>>(f);
  require(cudaGetLastError(), "starting the GPU kernel of ", launch.caller);
}

#else

// Calls f(i) for each i from 0 to n - 1, in an order that differs between calls.
template <class F>
void in_some_order(int64_t n, const F& f) {
  static thread_local uint64_t random = 1;
  random = random * 6364136223846793005u + 1442695040888963407u;
  const int64_t first = static_cast<int64_t>((random >> 33) % static_cast<uint64_t>(n));
  const int64_t step = (random >> 32) % 2 == 0 ? 1 : n - 1;
  for (int64_t k = 0, i = first; k < n; ++k, i = (i + step) % n) f(i);
}

class Block {
 public:
  explicit Block(int64_t index) : index_(index) {}
  int64_t index() const { return index_; }
  template <class F>
  void each(const F& f) const {
    in_some_order(kBlockThreads, [&](int64_t thread) { f(static_cast<int>(thread)); });
  }
  bool last_of(unsigned* arrived, unsigned count) const {
    *arrived = (*arrived + 1) % count;
    return *arrived == 0;
  }

 private:
  int64_t index_;
};

template <class T, class V>
void add_to(T* sum, V value) {
  *sum += value;
}

template <class Shared, class F>
void for_each_block(int64_t blocks, const Launch&, const F& f) {
  if (blocks <= 0) return;
  ++launches();
  const auto shared = std::make_unique<Shared>();
  in_some_order(blocks, [&](int64_t block) {
    memset(static_cast<void*>(shared.get()), 0xff, sizeof(Shared));  // NaN or -1
    f(Block(block), *shared);
  });
}

#endif

// A tree over `lanes` lanes of `width` threads each: thread t is number t % width of lane t /
// width. Calls add(thread, other) so that each thread of lane 0 finally has the sum of its number
// in all lanes.
template <class Add>
SHOAL_DEVICE void fold(const Block& block, int lanes, int width, const Add& add) {
  for (int left = lanes; left > 1;) {
    const int half = (left + 1) / 2;
    block.each([&](int thread) {
      if (thread / width + half < left) add(thread, thread + half * width);
    });
    left = half;
  }
}

}  // namespace shoal::ops::cuda_kernels
