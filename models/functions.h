#pragma once
// shoal's autograd functions. They compute with LibTorch and the operations in ops/. Activations
// are N×C×H×W, channels-last, in float32, float64 or bfloat16. Statistics and batch norm
// parameters are float64 for float64 activations, otherwise float32. There is no double backward.
// The functions run on the CPU and, if the CUDA plug-in is loaded, on GPUs, where they enqueue work
// on the current stream.

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstdint>

#include "models/step_context.h"
#include "ops/ops.h"

namespace shoal::models {

// Returns the dtype of statistics for activations like x: float64 for float64, otherwise float32.
at::ScalarType statistics_dtype(const at::Tensor& x);

// Returns the operations for a device. Throws std::invalid_argument for a GPU if the CUDA plug-in
// is not loaded, and for device types other than CPU and CUDA.
const ops::Table& operations(at::Device device);

// Returns the current stream of a GPU.
c10::Stream current_stream(at::Device device);
// Returns a stream from LibTorch's pool for a GPU. Its work does not wait for the default stream.
c10::Stream other_stream(at::Device device);
// Returns the device's current stream in the form that ops::Table's functions expect: a
// cudaStream_t, or nullptr for the CPU.
void* stream_of(at::Device device);

// Copies a host tensor to `device` asynchronously. Returns the tensor itself if `device` is the
// CPU. If `host` is in pinned memory, do not change it until the copy is done.
at::Tensor upload(const at::Tensor& host, at::Device device);

struct ConvolutionShape {
  int64_t stride = 1;
  int64_t padding = 0;  // zeros on each side of the image
  int64_t groups = 1;
  bool same = false;  // ignore `padding`, pad like TensorFlow's SAME (Padding in network.h)
};

// Convolves x with `copy`, a copy of the weight in x's dtype, or with `master` if `copy` is
// undefined. The weight's gradient always goes to `master`, in the dtype of `master`.
at::Tensor convolution(const at::Tensor& x, const at::Tensor& master, const at::Tensor& copy,
                       const ConvolutionShape& shape);

struct BatchNormState {
  const at::Tensor& weight;        // C
  const at::Tensor& bias;          // C
  const at::Tensor& running_mean;  // C, used in evaluation
  const at::Tensor& running_var;   // C, used in evaluation
  const at::Tensor& pending;       // 2×C, updated in training; see BatchNormSlot
  double eps = 1e-5;
  double momentum = 0.1;
  size_t index = 0;  // of `weight` in Network::parameters; `bias` is the next one
};

// Returns activation(batch_norm(x) [+ residual]). `residual` may be undefined. If `training`, uses
// the statistics of the batch. If the context has `sum_across_ranks`, these are the statistics of
// all ranks' batches, and forward and backward are collective. If not `training`, uses the running
// statistics as constants.
at::Tensor batch_norm_activation(const at::Tensor& x, const at::Tensor& residual,
                                 const BatchNormState& state, ops::Activation activation,
                                 bool training, const StepContext& context);

// Returns skip + branch * scale[n] for each image n (stochastic depth). `scale`: N values in the
// dtype of `branch`, 0 for a dropped branch, otherwise 1 / (keep probability).
at::Tensor add_scaled(const at::Tensor& skip, const at::Tensor& branch, const at::Tensor& scale);

struct SqueezeExciteWeights {
  const at::Tensor &weight1, &bias1;  // S×C×1×1, S
  const at::Tensor &weight2, &bias2;  // C×S×1×1, C
};

// Returns x * sigmoid(fc2(silu(fc1(mean of x over the pixels)))). `hard`: see SqueezeExcite in
// network.h. fc1 and fc2 compute in statistics_dtype(x), which is also the weights' dtype.
at::Tensor squeeze_excite(const at::Tensor& x, const SqueezeExciteWeights& weights,
                          bool hard = false);

struct Labels {
  at::Tensor a;       // int32, N
  at::Tensor b;       // int32, N; undefined: same as a
  at::Tensor lambda;  // float32, N: weight of label a; undefined: 1
};

struct LossResult {
  at::Tensor loss;      // scalar float64: scale * loss_sum; differentiable
  at::Tensor loss_sum;  // scalar float64: sum of the rows' losses
  // Scalar int64: number of rows in which Labels::a has the highest score (top1) or one of the five
  // highest scores (top5). ops/places.h defines the order of equal scores.
  at::Tensor top1;
  at::Tensor top5;
  // 3 int64: the bits of loss_sum (a double), top1, top5. These three are views of `sums`, so one
  // copy to the host reads all of them.
  at::Tensor sums;
};

// Softmax cross-entropy of N×classes logits (float32, float64 or bfloat16) with label
// smoothing and mixed labels. `scale` multiplies the loss and its gradient: pass 1 / (global batch
// size) for a mean. `class_weights`: one float64 per class, on the device of the logits; undefined:
// all 1. They weight the loss as in PyTorch, but the loss is not divided by the sum of the labels'
// weights. Computes the gradient during the call, not in backward.
LossResult cross_entropy(const at::Tensor& logits, const Labels& labels, double smoothing,
                         double scale, const at::Tensor& class_weights = {});

// Like cross_entropy(), but the loss is binary cross-entropy (ops::BinaryCrossEntropy).
// `class_weights`: a row's loss is multiplied by Σ class weight * target, where the targets are
// those before binary.threshold is applied.
LossResult binary_cross_entropy(const at::Tensor& logits, const Labels& labels, double smoothing,
                                double scale, const ops::BinaryCrossEntropy& binary,
                                const at::Tensor& class_weights = {});

}  // namespace shoal::models
