#pragma once
// Selects the device that a rank computes on.

#include <ATen/core/Tensor.h>

#include <string>

#include "data/loader/loader.h"
#include "models/model.h"
#include "train/job/job.h"
#include "train/step/cuda/plugin.h"

namespace shoal::train {

// The GPUs of this host that ranks may use, and this rank's GPU.
struct Gpus {
  int count = 0;     // number of usable GPUs; 0: ranks compute on the CPU
  int mine = 0;      // this rank's GPU: its local rank modulo count
  std::string name;  // card_name() of this rank's GPU
  std::string pci;   // DeviceInfo::pci of this rank's GPU
  const cuda::Plugin* plugin = nullptr;
  std::string why_none;  // why there is no GPU, if count is 0 and --device is not cpu
};

// Returns a name for the physical card of `gpu`, unique across all hosts. MIG instances of one card
// get the same name, because NCCL supports only one rank per card. `boot_id`: contents of the
// host's /proc/sys/kernel/random/boot_id. If empty, returns the UUID of the GPU or MIG instance.
std::string card_name(const std::string& boot_id, const cuda::DeviceInfo& gpu);

// Resolves --device and makes this rank's GPU the current device. `auto` selects a GPU if the
// plug-in loads and finds one. If no GPU is found, `cuda` throws UserError that names what is
// missing. Throws std::runtime_error if the GPU computes wrong results. Call it before anything
// asks LibTorch whether CUDA is available, because LibTorch caches the answer.
Gpus claim_gpu(const Job& job, int local_rank);

// Throws UserError if this rank's GPU cannot compute in the job's precision.
void check_precision(const ResolvedJob& job, const Gpus& gpus);

at::Device device_of(const ResolvedJob& job);

// Moves a model to a device, for inference only.
void move_to(models::Classifier& model, at::Device device);

// Returns the allocator for the loader's batches. For a GPU, batches are in pinned memory with
// extra room for their labels (data::Batch::room).
data::BufferAllocator batch_memory(const ResolvedJob& job);

}  // namespace shoal::train
