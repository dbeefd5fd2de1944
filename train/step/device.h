#pragma once
// Selects the device that a rank computes on.

#include <ATen/core/Tensor.h>

#include <string>

#include "data/loader/loader.h"
#include "models/model.h"
#include "train/run/job.h"
#include "train/step/cuda/plugin.h"

namespace shoal::train {

// The GPUs of this host that ranks may use, and this rank's GPU.
struct Gpus {
  int count = 0;     // 0: ranks compute on the CPU
  int mine = 0;      // rank n of the host uses GPU n modulo count
  std::string name;  // of this rank's GPU, unique across all hosts
  const cuda::Plugin* plugin = nullptr;
  std::string why_none;  // for `auto`: what is missing
};

// Resolves --device. `auto` takes a GPU if the plug-in loads and finds one. `cuda` throws a
// UserError that names what is missing. A GPU that computes wrong results is a std::runtime_error.
// Makes this rank's GPU the current device. Call before anything asks LibTorch whether CUDA is
// available.
Gpus claim_gpu(const Job& job, int local_rank);

at::Device device_of(const ResolvedJob& job);

// Moves a model that is used for inference only.
void move_to(models::Classifier& model, at::Device device);

// Allocator for the loader's batches: pinned memory if a GPU copies from them, with room for their
// labels.
data::BufferAllocator batch_memory(const ResolvedJob& job);

}  // namespace shoal::train
