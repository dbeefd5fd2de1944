#pragma once
// The plain loops behind ops::reference(), one function per table entry; see ops.h for what each
// computes. They support all types, run on one thread, and sum in row order. Sums are in double,
// except in gate.cpp, which sums in the statistics type.

#include "ops/ops.h"

namespace shoal::ops::reference_kernels {

#include "ops/kernel_declarations.h"

}  // namespace shoal::ops::reference_kernels
