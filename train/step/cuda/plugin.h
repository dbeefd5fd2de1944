#pragma once
// The table that the CUDA plug-in, libshoal_cuda.so, hands to the program. No torch and no CUDA
// headers here.
//
// The plug-in exports one function, shoal_cuda_plugin(version). It returns nullptr when it was
// built for another version of this header. Functions throw std::exceptions naming the CUDA
// operation that failed, unless said otherwise.

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "dist/nccl.h"
#include "ops/ops.h"

namespace shoal::cuda {

inline constexpr int kRevision = 4;  // raise with every change of this file

struct DeviceInfo {
  char name[256];  // "NVIDIA H100 80GB HBM3"
  unsigned char uuid[16];
  int major, minor;  // compute capability
  int multiprocessors;
  uint64_t total_bytes;  // of device memory
  uint64_t free_bytes;   // now, all processes counted
};

// Of this process's caching allocator; peaks since the last reset.
struct MemoryStatistics {
  uint64_t allocated_bytes, reserved_bytes;
  uint64_t peak_allocated_bytes, peak_reserved_bytes;
};

struct Graph;  // work of a GPU that was recorded, to be repeated with one launch

struct Plugin {
  int version;
  const char* architectures;  // what the kernels were compiled for: "8.0 9.0+PTX"

  // Number of usable GPUs; 0 without a driver. When 0, reason (may be nullptr, size bytes) receives
  // one sentence why.
  int (*device_count)(char* reason, size_t size);
  DeviceInfo (*device_info)(int device);
  // Of the calling thread; the first call on a device creates its context.
  void (*set_device)(int device);
  void (*synchronize)();  // waits for all work of the current device
  // Runs a small kernel of ours on the device and checks its result: false when the result is
  // wrong.
  bool (*check)(int device);

  MemoryStatistics (*memory_statistics)(int device);
  void (*reset_peak_memory)(int device);
  void (*empty_cache)();  // gives the memory that the allocator keeps but nobody uses back

  // Page-locked memory of the host, from which copies to a GPU do not keep the host waiting.
  void* (*allocate_pinned)(size_t bytes);
  void (*free_pinned)(void* memory);  // throws nothing

  const ops::Table* operations;

  // Calls body(context) `warm_ups` times, at least once, on a stream of its own, then once more while
  // what it enqueues is recorded and not run. It must not wait for the device then, nor copy from or
  // to memory of the host; tensors it makes keep their addresses, and numbers that it passes (a
  // learning rate, the number of an update) their values. The caller owns the graph.
  Graph* (*record)(void (*body)(void* context), void* context, int warm_ups);
  void (*replay)(Graph* graph);  // enqueues on the current stream
  void (*destroy)(Graph* graph);

  dist::NcclFunctions nccl;  // for dist::ConnectOptions
};

// Of this file, and of the sizes of everything that goes through the table.
inline constexpr int kPluginVersion = [] {
  unsigned version = kRevision;
  for (const size_t size :
       {sizeof(Plugin), sizeof(DeviceInfo), sizeof(ops::Table), sizeof(ops::Segment),
        sizeof(ops::MixRow), sizeof(ops::PrepareBatch), sizeof(ops::BatchNorm),
        sizeof(ops::BatchNormFinish), sizeof(ops::Gate), sizeof(ops::Depthwise),
        sizeof(ops::CrossEntropy), sizeof(ops::OptimizerStep)})
    version = version * 31 + static_cast<unsigned>(size);
  return static_cast<int>(version & 0x7fffffff);
}();

}  // namespace shoal::cuda

extern "C" __attribute__((visibility("default"))) const shoal::cuda::Plugin* shoal_cuda_plugin(
    int version);
