#pragma once
// Where a rank computes.

#include <ATen/core/Tensor.h>

#include <string>

#include "data/loader/loader.h"
#include "models/model.h"
#include "train/run/job.h"
#include "train/step/cuda/plugin.h"

namespace shoal::train {

// The GPUs of this host that ranks may use, and this rank's.
struct Gpus {
  int count = 0;     // 0: ranks compute on the CPU
  int mine = 0;      // rank n of the host has GPU n modulo count
  std::string name;  // of mine, like no other GPU's of any host
  const cuda::Plugin* plugin = nullptr;
  std::string why_none;  // for `auto`: what is missing
};

// What --device asks for. `auto` takes a GPU where the plug-in loads and finds one; `cuda` insists,
// and throws UserError that says what is missing. A GPU that computes wrongly is a
// std::runtime_error. This rank's GPU is the current device from then on. Call before anything asks
// LibTorch whether there is CUDA.
Gpus claim_gpu(const Job& job, int local_rank);

at::Device device_of(const ResolvedJob& job);

// Moves a model that is only used, not trained.
void move_to(models::Classifier& model, at::Device device);

// Where a loader's batches lie: page-locked where a GPU copies them from there, with room for their
// labels.
data::BufferAllocator batch_memory(const ResolvedJob& job);

}  // namespace shoal::train
