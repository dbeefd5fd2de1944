#pragma once
// The vector loops behind ops::cpu(), one function per entry of the table; ops.h says what each
// computes. All threads of OpenMP's team work, each on a fixed share of the rows, so a run repeats
// for the same thread count. Types and shapes without a vector loop go to the reference.

#include "ops/ops.h"

namespace shoal::ops::cpu_kernels {

void prepare_batch(const PrepareBatch&, void* stream);  // prepare_batch.cpp
void gradient_norm(Type, const void* gradients, int64_t total, double* norm, int32_t* non_finite,
                   void* stream);
void sgd(const OptimizerStep&, void* stream);  // optimizer.cpp
void rmsprop_tf(const OptimizerStep&, void* stream);
void adamw(const OptimizerStep&, void* stream);
void ema(Type, void* average, const void* parameters, int64_t total, double decay,
         const int32_t* non_finite, void* stream);

}  // namespace shoal::ops::cpu_kernels
