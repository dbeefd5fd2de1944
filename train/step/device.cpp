#include "train/step/device.h"

#include <ATen/Context.h>

#include <stdexcept>

#include "base/log.h"
#include "base/process/proc.h"
#include "train/step/cuda/open.h"
#include "train/step/input.h"
#include "train/step/state/flat_parameters.h"
#include "train/step/state/flat_statistics.h"

namespace shoal::train {
namespace {

Gpus find_gpus() {
  Gpus gpus;
  try {
    gpus.plugin = &cuda_plugin();
  } catch (const std::runtime_error& error) {
    gpus.why_none = error.what();
    return gpus;
  }
  char reason[256] = "";
  gpus.count = gpus.plugin->device_count(reason, sizeof reason);
  if (gpus.count == 0) gpus.why_none = std::string(reason) + "; use --device cpu";
  return gpus;
}

}  // namespace

std::string card_name(const std::string& boot_id, const cuda::DeviceInfo& gpu) {
  if (!boot_id.empty()) return boot_id + " " + gpu.pci;
  std::string uuid;
  for (const unsigned char byte : gpu.uuid) uuid += strf("%02x", byte);
  return uuid;
}

Gpus claim_gpu(const Job& job, int local_rank) {
  if (job.device == "cpu") return {};
  Gpus gpus = find_gpus();
  if (gpus.count == 0) {
    if (job.device == "cuda") throw UserError("--device cuda: " + gpus.why_none);
    return gpus;
  }
  gpus.mine = local_rank % gpus.count;
  gpus.plugin->set_device(gpus.mine);
  if (!gpus.plugin->check(gpus.mine))
    throw std::runtime_error(
        "GPU " + std::to_string(gpus.mine) +
        " of this host computes wrong results; remove it from CUDA_VISIBLE_DEVICES");
  const cuda::DeviceInfo info = gpus.plugin->device_info(gpus.mine);
  gpus.name = card_name(first_line("/proc/sys/kernel/random/boot_id"), info);
  gpus.pci = info.pci;
  // Without --deterministic, cuDNN measures all its algorithms for a shape when it first sees it.
  at::globalContext().setDeterministicCuDNN(job.deterministic);
  at::globalContext().setBenchmarkCuDNN(!job.deterministic);
  // --amp off must compute in float32, not in TF32, which has only 10 mantissa bits instead of 23.
  at::globalContext().setAllowTF32CuDNN(false);
  return gpus;
}

void check_precision(const ResolvedJob& job, const Gpus& gpus) {
  if (gpus.count == 0 || job.amp != Precision::bf16) return;
  const cuda::DeviceInfo info = gpus.plugin->device_info(gpus.mine);
  if (info.major < 8)
    throw UserError(
        strf("--amp bf16 needs a GPU of compute capability 8.0 or higher, but the %s has "
             "%d.%d; use --amp off",
             info.name, info.major, info.minor));
}

at::Device device_of(const ResolvedJob& job) {
  if (job.device == "cpu") return at::kCPU;
  return {at::kCUDA, static_cast<c10::DeviceIndex>(job.gpu)};
}

void move_to(models::Classifier& model, at::Device device) {
  if (device.is_cpu()) return;
  // `parameters` and `statistics` may be destroyed at the end of this function: the model's tensors
  // share ownership of their buffers.
  FlatOptions options;
  options.device = device;
  const FlatParameters parameters(model, options);
  const FlatStatistics statistics(model, at::kFloat, device);
  for (at::Tensor parameter : parameters.tensors()) parameter.mutable_grad().reset();
}

data::BufferAllocator batch_memory(const ResolvedJob& job) {
  if (job.device == "cpu") return {};
  const cuda::Plugin& plugin = cuda_plugin();
  return {plugin.allocate_pinned, plugin.free_pinned, room_per_row()};
}

}  // namespace shoal::train
