#pragma once
// The functions behind ops::cpu(), one per table entry, on OpenMP threads; ops.h documents them.
// Types and shapes without a vector loop use the reference implementation. So do operations that
// cpu.cpp does not set; their declarations here have no definition.

#include "ops/ops.h"

namespace shoal::ops::cpu_kernels {

#include "ops/kernel_declarations.h"

}  // namespace shoal::ops::cpu_kernels
