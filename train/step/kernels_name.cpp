#include "train/step/kernels_name.h"

#include "ops/fused/kernels.h"
#include "ops/ops.h"
#include "train/step/cuda/open.h"

namespace shoal::train {

std::string kernels_of(const ResolvedJob& job) {
  if (job.device != "cpu")
    return cuda_plugin().device_info(job.gpu).name +
           std::string(job.deterministic ? ", deterministic" : "");
  const std::string name = ops::cpu().name;
  if (job.model.kernels != models::Kernels::fused) return name;
  const auto storage =
      job.amp == Precision::bf16 ? ops::fused::Storage::bf16 : ops::fused::Storage::f32;
  return name + ", fused " + ops::fused::loops(storage).name;
}

}  // namespace shoal::train
