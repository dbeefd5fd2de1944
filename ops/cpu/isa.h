#pragma once
// Selects one instruction set for all vector loops in this folder. On x86-64, CMake compiles
// isa_x86.cpp, otherwise isa_portable.cpp.

#include "ops/cpu/activations.h"
#include "ops/cpu/depthwise.h"
#include "ops/cpu/optimizer_range.h"

namespace shoal::ops::cpu_kernels {

// The loops compiled for one instruction set.
struct Isa {
  const char* name;                    // "avx2" or "portable"; stored in checkpoints
  const ActivationLoops* activations;  // [0] f32, [1] bf16
  const DepthwiseLoops* depthwise;
  const OptimizerLoops* optimizer;  // [0] f32, [1] f64
};

// Returns the best instruction set that this processor supports; the same on every call.
// Thread-safe.
const Isa& best_isa();

}  // namespace shoal::ops::cpu_kernels
