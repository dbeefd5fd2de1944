#pragma once
// The vector loops behind ops::cpu(), one function per table entry; see ops.h for what each
// computes. Each OpenMP thread processes a fixed share of the rows, so results repeat exactly for
// the same thread count. Types and shapes without a vector loop use the reference implementation,
// as do whole entries without one (cpu.cpp): their functions are only declared here.

#include "ops/ops.h"

namespace shoal::ops::cpu_kernels {

#include "ops/kernel_declarations.h"

}  // namespace shoal::ops::cpu_kernels
