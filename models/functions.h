#pragma once
// The autograd functions of shoal: where the operations of ops/ meet tensors. Activations are
// N×C×H×W in channels-last memory, float32, float64, bfloat16 or half; statistics and batch norm
// parameters float64 for float64, else float32. All are differentiable once. Devices: the CPU, and
// GPUs once the CUDA plug-in is open (work is enqueued on the current stream).

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstdint>

#include "models/step_context.h"
#include "ops/ops.h"

namespace shoal::models {

// The dtype of statistics and small vectors beside activations like x: float64 for float64, else
// float32.
at::ScalarType statistics_dtype(const at::Tensor& x);

// The operations of a device. Throws std::invalid_argument for one without any: a GPU while the CUDA
// plug-in is not open.
const ops::Table& operations(at::Device device);

// The current stream of a GPU; and that of any device as the operations want it: nullptr on the CPU.
c10::Stream current_stream(at::Device device);
void* stream_of(at::Device device);

// The numbers of a tensor in the host's memory, on `device`; for the CPU the tensor itself. The host
// does not wait for the copy. Memory that somebody else page-locked may not change until then.
at::Tensor sent(const at::Tensor& host, at::Device device);

struct ConvolutionShape {
  int64_t stride = 1, padding = 0, groups = 1;
};

// Convolves x with `copy` when it is defined (x has its dtype), else with `master`. The gradient
// arrives at `master`, in its dtype.
at::Tensor convolution(const at::Tensor& x, const at::Tensor& master, const at::Tensor& copy,
                       const ConvolutionShape& shape);

struct BatchNormState {
  const at::Tensor& weight;        // C
  const at::Tensor& bias;          // C
  const at::Tensor& running_mean;  // C, used in evaluation
  const at::Tensor& running_var;   // C, used in evaluation
  const at::Tensor& pending;       // 2×C, receives the batch statistics in training
  double eps = 1e-5;
  double momentum = 0.1;
};

// activation(batch_norm(x) [+ residual]). Training: statistics of the batch, over all ranks when
// the context sums across ranks. Evaluation: running statistics, as constants. `residual` may be
// undefined.
at::Tensor batch_norm_activation(const at::Tensor& x, const at::Tensor& residual,
                                 const BatchNormState& state, ops::Activation activation,
                                 bool training, const StepContext& context);

// skip + branch * scale[n] for every image n of the batch: stochastic depth with the mask already
// divided by the keep probability. scale: N, dtype of branch.
at::Tensor add_scaled(const at::Tensor& skip, const at::Tensor& branch, const at::Tensor& scale);

struct SqueezeExciteWeights {
  const at::Tensor &weight1, &bias1;  // S×C×1×1, S
  const at::Tensor &weight2, &bias2;  // C×S×1×1, C
};

// x * sigmoid(fc2(silu(fc1(mean of x over pixels)))). The two small layers compute in the dtype of
// their weights, which is the statistics type.
at::Tensor squeeze_excite(const at::Tensor& x, const SqueezeExciteWeights& weights);

struct Labels {
  at::Tensor a;       // int32, N
  at::Tensor b;       // int32, N, or undefined: a
  at::Tensor lambda;  // float32, N: weight of a; or undefined: 1
};

struct LossResult {
  at::Tensor loss;      // scalar float64: scale * loss_sum, differentiable
  at::Tensor loss_sum;  // scalar float64: sum over the rows
  at::Tensor top1;      // scalar int64: rows whose label a comes first by score (ops/places.h)
  at::Tensor top5;      // scalar int64: rows whose label a is among the first five
  at::Tensor sums;      // int64, 3: the memory of the three, to be read at once
};

// Softmax cross-entropy of N×classes logits (any of the four dtypes) with label smoothing and mixed
// labels. `scale` multiplies the loss and its gradient: 1 / (global batch) for a mean. The gradient
// is computed with the loss.
LossResult cross_entropy(const at::Tensor& logits, const Labels& labels, double smoothing,
                         double scale);

}  // namespace shoal::models
