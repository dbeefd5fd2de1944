#include "dist/env/backend.h"

#include <map>
#include <stdexcept>

namespace shoal::dist {

const char* name_of(Backend backend) {
  return backend == Backend::nccl ? "nccl" : backend == Backend::gloo ? "gloo" : "auto";
}

Backend choose_backend(Backend requested, const std::vector<std::string>& gpus, const Env& env) {
  int with = -1, without = -1, first = -1, second = -1;
  std::map<std::string, int> taken;
  for (int rank = 0; rank < static_cast<int>(gpus.size()); ++rank) {
    const std::string& gpu = gpus[static_cast<size_t>(rank)];
    int& one = gpu.empty() ? without : with;
    if (one < 0) one = rank;
    if (gpu.empty()) continue;
    const auto [owner, free] = taken.emplace(gpu, rank);
    if (!free && second < 0) first = owner->second, second = rank;
  }
  if (with >= 0 && without >= 0)
    throw std::runtime_error("rank " + rank_with_host(with, env) + " computes on a GPU, but rank " +
                             rank_with_host(without, env) +
                             " on the CPU; run `shoal doctor` there to find the reason, or use "
                             "--device cpu everywhere");
  if (requested == Backend::nccl && with < 0)
    throw std::invalid_argument(
        "--backend nccl needs GPUs, but this run computes on the CPU; use --backend gloo or auto");
  if (requested == Backend::nccl && second >= 0)
    throw std::invalid_argument("--backend nccl: ranks " + std::to_string(first) + " and " +
                                rank_with_host(second, env) +
                                " share a GPU (or its MIG instances), which NCCL does not support; "
                                "use --backend gloo or auto, or one process per GPU");
  const bool nccl = with >= 0 && second < 0 && requested != Backend::gloo;
  return nccl ? Backend::nccl : Backend::gloo;
}

}  // namespace shoal::dist
