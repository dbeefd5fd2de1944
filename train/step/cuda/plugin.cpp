#include "train/step/cuda/plugin.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "ops/cuda/device.h"
#include "ops/cuda/table.h"
#include "train/step/cuda/graph.h"

namespace shoal::cuda {

namespace {

void must(cudaError_t error, const char* operation) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string(operation) + ": " + cudaGetErrorString(error));
}

int device_count(char* reason, size_t size) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    cudaGetLastError();  // clears the error; otherwise the next call would report it
    count = 0;
  }
  if (count == 0 && reason && size > 0) {
    // CUDA reports cudaErrorInsufficientDriver also if there is no driver.
    const char* why = error == cudaSuccess ? "none is visible to this process"
                      : error == cudaErrorInsufficientDriver
                          ? "no NVIDIA driver, or one too old for CUDA 13"
                          : cudaGetErrorString(error);
    std::snprintf(reason, size, "no usable GPU: %s", why);
  }
  return count;
}

// Makes `device` the thread's current device. The destructor restores the previous one.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    must(cudaGetDevice(&before_), "cudaGetDevice");
    must(cudaSetDevice(device), "cudaSetDevice");
  }
  ~OnDevice() { cudaSetDevice(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

DeviceInfo device_info(int device) {
  cudaDeviceProp properties{};
  must(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  DeviceInfo info{};
  std::snprintf(info.name, sizeof info.name, "%s", properties.name);
  std::memcpy(info.uuid, &properties.uuid, sizeof info.uuid);
  must(cudaDeviceGetPCIBusId(info.pci, sizeof info.pci, device), "cudaDeviceGetPCIBusId");
  info.major = properties.major;
  info.minor = properties.minor;
  info.multiprocessors = properties.multiProcessorCount;
  const OnDevice on(device);
  size_t free_bytes = 0, total_bytes = 0;
  must(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  info.free_bytes = free_bytes;
  info.total_bytes = total_bytes;
  return info;
}

void set_device(int device) {
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(device));
}

void synchronize() {
  must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

bool check(int device) {
  constexpr int kCount = 1000, kFactor = 3;
  const OnDevice on(device);
  int* raw = nullptr;
  must(cudaMalloc(&raw, kCount * sizeof(int)), "cudaMalloc");
  const std::unique_ptr<int, cudaError_t (*)(int*)> memory(raw, [](int* p) { return cudaFree(p); });
  must(fill_ramp(raw, kCount, kFactor, nullptr), "starting the test kernel");
  std::vector<int> values(kCount);
  must(cudaMemcpy(values.data(), raw, kCount * sizeof(int), cudaMemcpyDeviceToHost),
       "running the test kernel");
  for (int i = 0; i < kCount; ++i)
    if (values[static_cast<size_t>(i)] != i * kFactor) return false;
  return true;
}

MemoryStatistics memory_statistics(int device) {
  using c10::CachingAllocator::StatType;
  const auto statistics =
      c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(device));
  const auto total = static_cast<size_t>(StatType::AGGREGATE);
  const auto& allocated = statistics.allocated_bytes[total];
  const auto& reserved = statistics.reserved_bytes[total];
  return {static_cast<uint64_t>(allocated.current), static_cast<uint64_t>(reserved.current),
          static_cast<uint64_t>(allocated.peak), static_cast<uint64_t>(reserved.peak)};
}

void empty_cache() {
  c10::cuda::CUDACachingAllocator::emptyCache();
}

void* allocate_pinned(size_t bytes) {
  void* memory = nullptr;
  must(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "cudaHostAlloc");
  return memory;
}

void free_pinned(void* memory) {
  cudaFreeHost(memory);
}

void reset_peak_memory(int device) {
  c10::cuda::CUDACachingAllocator::resetPeakStats(static_cast<c10::DeviceIndex>(device));
}

}  // namespace

}  // namespace shoal::cuda

const shoal::cuda::Plugin* shoal_cuda_plugin(int version) {
  using namespace shoal::cuda;
  static const Plugin plugin = {kPluginVersion,
                                SHOAL_CUDA_ARCHITECTURES,
                                device_count,
                                device_info,
                                set_device,
                                synchronize,
                                check,
                                memory_statistics,
                                reset_peak_memory,
                                empty_cache,
                                allocate_pinned,
                                free_pinned,
                                &shoal::ops::cuda_table(),
                                record,
                                replay,
                                destroy,
                                shoal::dist::nccl_functions()};
  return version == kPluginVersion ? &plugin : nullptr;
}
