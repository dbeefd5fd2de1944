#pragma once
// The vector loops behind ops::cpu(), one function per table entry; see ops.h for what each
// computes. Each OpenMP thread processes a fixed share of the rows, so results repeat exactly for
// the same thread count. Types and shapes without a vector loop use the reference implementation.

#include "ops/ops.h"

namespace shoal::ops::cpu_kernels {

void prepare_batch(const PrepareBatch&, void* stream);  // prepare_batch.cpp
void batch_norm_sums(Type, const void* x, int64_t rows, int64_t channels, double* sums,
                     void* stream);  // batch_norm.cpp
void batch_norm_apply(const BatchNorm&, void* y, void* stream);
void batch_norm_backward_sums(const BatchNorm&, const void* dy, double* sums, void* stream);
void batch_norm_backward_apply(const BatchNorm&, const void* dy, const double* sums, double count,
                               void* dx, void* d_residual, void* stream);
void pool(const Gate&, void* pooled, void* stream);  // gate.cpp
void gate_apply(const Gate&, void* y, void* stream);
void gate_backward_sums(const Gate&, const void* dy, void* d_gate, void* stream);
void gate_backward_apply(const Gate&, const void* dy, const void* d_pooled, void* dx, void* stream);
void depthwise_backward_weights(const Depthwise&, const void* x, const void* dy, void* d_weight,
                                void* stream);  // depthwise.cpp
void gradient_norm(Type, const void* gradients, int64_t total, double* norm, int32_t* non_finite,
                   void* stream);  // optimizer.cpp
void sgd(const OptimizerStep&, void* stream);
void rmsprop_tf(const OptimizerStep&, void* stream);
void adamw(const OptimizerStep&, void* stream);
void ema(Type, void* average, const void* parameters, int64_t total, double decay,
         const int32_t* non_finite, void* stream);

}  // namespace shoal::ops::cpu_kernels
