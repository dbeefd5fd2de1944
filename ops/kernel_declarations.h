// Declares one function per operation of ops::Table; ops.h documents them. reference/kernels.h and
// cpu/kernels.h include this file inside their namespaces, so it has no #pragma once. A trailing
// comment names the file that defines this function and the following ones.

void prepare_batch(const PrepareBatch&, void* stream);  // prepare_batch.cpp
void batch_norm_sums(Type, const void* x, int64_t rows, int64_t channels, double* sums,
                     const BatchNormFinish* finish, void* stream);  // batch_norm.cpp
void batch_norm_finish(const BatchNormFinish&, void* stream);
void batch_norm_apply(const BatchNorm&, void* y, void* stream);
void batch_norm_backward_sums(const BatchNorm&, const void* dy, double* sums, const NormGradients&,
                              void* stream);
void batch_norm_backward_apply(const BatchNorm&, const void* dy, const double* sums,
                               const double* count, void* dx, void* d_residual, void* stream);
void pool(const Gate&, void* pooled, void* stream);  // gate.cpp
void gate_apply(const Gate&, void* y, void* stream);
void gate_backward_sums(const Gate&, const void* dy, void* d_gate, void* stream);
void gate_backward_apply(const Gate&, const void* dy, const void* d_pooled, void* dx, void* stream);
void mask(const Mask&, void* out, void* stream);  // mask.cpp
void depthwise_backward_weights(const Depthwise&, const void* x, const void* dy, void* d_weight,
                                void* stream);          // depthwise.cpp
void cross_entropy(const CrossEntropy&, void* stream);  // cross_entropy.cpp
void binary_cross_entropy(const CrossEntropy&, const BinaryCrossEntropy&,
                          void* stream);  // binary_cross_entropy.cpp
void gradient_norm(Type, const void* gradients, int64_t total, double* norm, int32_t* non_finite,
                   void* stream);  // optimizer.cpp
void optimize(const OptimizerStep&, void* stream);
void ema(Type, void* average, const void* parameters, int64_t total, double decay,
         const int32_t* non_finite, void* stream);
