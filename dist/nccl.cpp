// Compiled into the CUDA plug-in, not into shoal_dist, because it needs libtorch_cuda.

#include "dist/nccl.h"

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

// ProcessGroupNCCL::Options holds ncclConfig_t by value and has inline functions. With the header
// of another NCCL version, the size of Options could differ from the one compiled into LibTorch.
static_assert(NCCL_VERSION_CODE == 22809,
              "nccl.h must be NCCL 2.28.9, the version torch 2.11 was built with");

namespace shoal::dist {
namespace {

c10d::Backend* make_nccl(c10d::Store* store, int rank, int size, int device, int64_t timeout_ms,
                         const char* group_name) {
  using c10d::ProcessGroupNCCL;
  const at::Device on(at::kCUDA, static_cast<c10::DeviceIndex>(device));
  c10::cuda::set_device(on.index());
  // Without a high-priority stream, NCCL's kernels would wait for those of backward, which fill the
  // GPU.
  auto options = ProcessGroupNCCL::Options::create(/*is_high_priority_stream=*/true);
  options->timeout = std::chrono::milliseconds(timeout_ms);
  options->group_name = group_name;
  auto backend = c10::make_intrusive<ProcessGroupNCCL>(
      c10::intrusive_ptr<c10d::Store>::reclaim_copy(store), rank, size, std::move(options));
  backend->setBoundDeviceId(on);
  // Connects now. Otherwise the first collective would connect, which takes seconds and could
  // happen during graph capture.
  backend->eagerConnectSingleDevice(on);
  return backend.release();
}

void shutdown_nccl(c10d::Backend* backend) {
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess)
    throw std::runtime_error(std::string("waiting for the GPU before closing NCCL: ") +
                             cudaGetErrorString(error));
  backend->shutdown();
}

}  // namespace

NcclFunctions nccl_functions() {
  return {make_nccl, shutdown_nccl};
}

}  // namespace shoal::dist
