#pragma once
// How ranks talk, which follows from what each of them computes on. No torch.

#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::dist {

enum class Backend { automatic, gloo, nccl };

const char* name_of(Backend backend);  // as --backend has it

// The backend for ranks of which rank n computes on GPU gpus[n] (a name that no other GPU of any
// host has), or on the CPU where that is empty. `automatic`: NCCL where every rank has a GPU of its
// own, else Gloo. The same arguments give the same answer or error on every rank. Throws
// std::runtime_error naming a rank with a GPU and one without where there are both, and
// std::invalid_argument where NCCL is asked for and cannot be.
Backend choose_backend(Backend asked, const std::vector<std::string>& gpus, const Env& env);

}  // namespace shoal::dist
