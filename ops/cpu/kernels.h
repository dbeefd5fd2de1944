#pragma once
// The functions behind ops::cpu(), one per table entry, on OpenMP threads; ops.h documents them.
// Types and shapes without a vector loop use the reference implementation. So do all operations
// that cpu.cpp does not set, such as cross_entropy: they are declared here, but not defined.

#include "ops/ops.h"

namespace shoal::ops::cpu_kernels {

#include "ops/kernel_declarations.h"

}  // namespace shoal::ops::cpu_kernels
