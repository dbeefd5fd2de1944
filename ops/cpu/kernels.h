#pragma once
// The vector loops behind ops::cpu(), one function per table entry; see ops.h for what each
// computes. Each OpenMP thread processes a fixed share of the rows, so results repeat exactly for
// the same thread count. Types and shapes without a vector loop use the reference implementation.
// So do the table entries that cpu() in cpu.cpp does not set: this file declares functions for them
// that are not defined.

#include "ops/ops.h"

namespace shoal::ops::cpu_kernels {

#include "ops/kernel_declarations.h"

}  // namespace shoal::ops::cpu_kernels
