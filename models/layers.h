#pragma once
// Layers of EfficientNet and ResNet. The constructor registers the layer's tensors with the builder
// under torchvision's names. The builder keeps pointers to them, so a layer must not move. Between
// forwards, other code may set these tensors through the pointers, for example to views of a flat
// buffer or to a low-precision copy; the next forward uses the new ones.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "models/builder.h"
#include "models/functions.h"
#include "models/step_context.h"

namespace shoal::models {

struct Layer {
  Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
};

struct ConvOptions {
  int64_t in = 0, out = 0;  // channels
  int64_t kernel = 1;       // pixels, odd; padding (kernel - 1) / 2
  int64_t stride = 1, groups = 1;
};

// Convolution without bias. Initialized from Normal(0, sqrt(2 / (out * kernel²))), which is Kaiming
// initialization by fan-out.
class Conv2d : Layer {
 public:
  Conv2d(Builder& builder, const std::string& name, const ConvOptions& options);
  at::Tensor forward(const at::Tensor& x) const;

 private:
  ConvolutionShape shape_;
  at::Tensor weight_, weight_copy_;
};

// Batch norm, fused with the activation and the residual addition that may follow it.
class BatchNorm : Layer {
 public:
  BatchNorm(Builder& builder, const std::string& name, int64_t channels, double eps,
            double momentum);
  // Returns activation(normalized [+ residual]); `residual` may be undefined.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& residual, ops::Activation activation,
                     bool training, const StepContext& context) const;

 private:
  double eps_, momentum_;
  at::Tensor weight_, bias_, running_mean_, running_var_, num_batches_tracked_, pending_;
};

enum class LinearInit { by_inputs, by_outputs };

// y = x Wᵀ + b, in the dtype of W. Initial values with by_inputs (PyTorch's default): W and b
// uniform in ±1/sqrt(in). With by_outputs: W uniform in ±1/sqrt(out), b = 0.
class Linear : Layer {
 public:
  Linear(Builder& builder, const std::string& name, int64_t in, int64_t out, LinearInit init);
  at::Tensor forward(const at::Tensor& x) const;

 private:
  at::Tensor weight_, bias_;
};

// Squeeze-excite: x * sigmoid(fc2(silu(fc1(mean over the pixels)))). fc1 and fc2 are stored as 1×1
// convolutions, like torchvision's.
class SqueezeExcite : Layer {
 public:
  SqueezeExcite(Builder& builder, const std::string& name, int64_t channels, int64_t squeezed);
  at::Tensor forward(const at::Tensor& x) const;

 private:
  at::Tensor weight1_, bias1_, weight2_, bias2_;
};

// Global average pooling and dropout: N×C×H×W to N×C in the statistics dtype.
class PooledFeatures : Layer {
 public:
  PooledFeatures(Builder& builder, double dropout);
  at::Tensor forward(const at::Tensor& x, bool training, const StepContext& context) const;

 private:
  double dropout_;
  uint64_t mask_layer_;
};

// Adds a residual branch (stochastic depth). In training, drops each image's branch with
// probability `drop` and multiplies the others by 1 / (1 - drop).
class DropPath : Layer {
 public:
  DropPath(Builder& builder, double drop);
  bool active(bool training) const { return training && drop_ > 0; }
  at::Tensor forward(const at::Tensor& skip, const at::Tensor& branch,
                     const StepContext& context) const;

 private:
  double drop_;
  uint64_t mask_layer_;
};

}  // namespace shoal::models
