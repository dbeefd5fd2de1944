#pragma once
// Which instruction set the vector loops of this folder use: one choice for all of them. CMake
// compiles the definition for the kind of processor (isa_x86.cpp or isa_portable.cpp).

#include "ops/cpu/activations.h"
#include "ops/cpu/depthwise.h"
#include "ops/cpu/optimizer_range.h"

namespace shoal::ops::cpu_kernels {

// The loops that were compiled for one instruction set.
struct Isa {
  const char* name;                    // "avx2", "portable"; checkpoints hold it
  const ActivationLoops* activations;  // [0] f32, [1] bf16
  const DepthwiseLoops* depthwise;
  const OptimizerLoops* optimizer;  // [0] f32, [1] f64
};

// The best that this processor has; the same at every call. Any thread.
const Isa& best_isa();

}  // namespace shoal::ops::cpu_kernels
