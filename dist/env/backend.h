#pragma once
// The communication backend, chosen from the devices that the ranks compute on. Does not use
// LibTorch.

#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::dist {

enum class Backend { automatic, gloo, nccl };

const char* name_of(Backend backend);  // the value of --backend: auto, gloo or nccl

// Chooses the backend. gpus[n]: name of rank n's physical GPU (card), unique across all hosts;
// empty: rank n computes on the CPU. `automatic` selects NCCL if every rank has its own card,
// otherwise Gloo. The same arguments give the same result or error on every rank. Throws
// std::runtime_error naming two ranks if only some ranks have a GPU, and std::invalid_argument if
// NCCL is requested but impossible.
Backend choose_backend(Backend requested, const std::vector<std::string>& gpus, const Env& env);

}  // namespace shoal::dist
