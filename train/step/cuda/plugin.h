#pragma once
// The function table that the CUDA plug-in, libshoal_cuda.so, passes to the program. This file must
// not include headers of LibTorch or CUDA.
//
// The plug-in exports one function, shoal_cuda_plugin(version). It returns nullptr if the plug-in
// was built for another version of this header. Unless noted otherwise, functions throw a
// std::exception that names the failed CUDA operation.

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "dist/nccl.h"
#include "ops/ops.h"

namespace shoal::cuda {

inline constexpr int kRevision = 7;  // increment it with every change of this file

struct DeviceInfo {
  char name[256];  // "NVIDIA H100 80GB HBM3"
  unsigned char uuid[16];
  char pci[16];      // PCI address of the card: "0000:3b:00.0"; its MIG instances share it
  int major, minor;  // compute capability
  int multiprocessors;
  uint64_t total_bytes;  // device memory
  uint64_t free_bytes;   // device memory that no process uses
};

// GPU memory of LibTorch's caching allocator in this process. Peaks are since the last
// reset_peak_memory().
struct MemoryStatistics {
  uint64_t allocated_bytes, reserved_bytes;
  uint64_t peak_allocated_bytes, peak_reserved_bytes;
};

struct Graph;  // a CUDA graph: recorded GPU work that one launch replays

struct Plugin {
  int version;
  const char* architectures;  // the kernels' architectures, as in CMake: "75-real 80-real 90"

  // Returns the number of usable GPUs; 0 without a driver. If 0, writes one sentence with the
  // reason to `reason`, a buffer of `size` bytes (may be nullptr).
  int (*device_count)(char* reason, size_t size);
  DeviceInfo (*device_info)(int device);
  // Sets the calling thread's current device. The first call for a device creates its context.
  void (*set_device)(int device);
  void (*synchronize)();  // waits for all work on the current device
  // Runs a small kernel on the device. Returns whether its result is correct.
  bool (*check)(int device);

  MemoryStatistics (*memory_statistics)(int device);
  void (*reset_peak_memory)(int device);
  void (*empty_cache)();  // returns the allocator's unused memory to the device

  // Allocate and free pinned host memory. Copies from pinned memory to a GPU can be asynchronous.
  void* (*allocate_pinned)(size_t bytes);
  void (*free_pinned)(void* memory);  // does not throw

  const ops::Table* operations;

  // Records a graph: calls body(context) `warm_ups` times (at least 1) on a separate stream, then
  // once more during capture, which records the call's GPU work without running it. During capture,
  // `body` must not wait for the device or copy from or to host memory. A replay uses the same
  // tensor addresses and the same scalar arguments (learning rate, step number) as the capture. The
  // caller owns the graph and frees it with destroy().
  Graph* (*record)(void (*body)(void* context), void* context, int warm_ups);
  void (*replay)(Graph* graph);  // enqueues on the current stream
  void (*destroy)(Graph* graph);

  dist::NcclFunctions nccl;  // for dist::ConnectOptions
};

// Version of this interface: a hash of kRevision, of the number of optimizers, and of the sizes of
// all structs that are passed through the table.
inline constexpr int kPluginVersion = [] {
  unsigned version = kRevision;
  for (const size_t size :
       {sizeof(Plugin), sizeof(DeviceInfo), sizeof(ops::Table), sizeof(ops::Segment),
        sizeof(ops::MixRow), sizeof(ops::PrepareBatch), sizeof(ops::BatchNorm),
        sizeof(ops::BatchNormFinish), sizeof(ops::Gate), sizeof(ops::Depthwise),
        sizeof(ops::CrossEntropy), sizeof(ops::BinaryCrossEntropy), sizeof(ops::OptimizerStep),
        sizeof(MemoryStatistics), size_t{ops::kOptimizerCount}})
    version = version * 31 + static_cast<unsigned>(size);
  return static_cast<int>(version & 0x7fffffff);
}();

}  // namespace shoal::cuda

extern "C" __attribute__((visibility("default"))) const shoal::cuda::Plugin* shoal_cuda_plugin(
    int version);
