#pragma once
// The layers that EfficientNet and ResNet are made of. A layer registers its tensors with the
// builder under torchvision's names when it is constructed, so it never moves, and reads them at
// every forward, so their owner may replace them in between (by views of a flat buffer, by another
// precision).

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

// A convolution without bias, drawn from Normal(0, sqrt(2 / (out * kernel²))): Kaiming, fan out.
class Conv2d : Layer {
 public:
  Conv2d(Builder& builder, const std::string& name, const ConvOptions& options);
  at::Tensor forward(const at::Tensor& x) const;

 private:
  ConvolutionShape shape_;
  at::Tensor weight_, weight_copy_;
};

// Batch norm with the activation and the addition that may follow it.
class BatchNorm : Layer {
 public:
  BatchNorm(Builder& builder, const std::string& name, int64_t channels, double eps,
            double momentum);
  // activation(normalised [+ residual]); residual may be undefined.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& residual, ops::Activation activation,
                     bool training, const StepContext& context) const;

 private:
  double eps_, momentum_;
  at::Tensor weight_, bias_, running_mean_, running_var_, num_batches_tracked_, pending_;
};

enum class LinearInit { by_inputs, by_outputs };

// y = x Wᵀ + b. by_inputs: W and b uniform in ±1/sqrt(in), PyTorch's default; by_outputs: W uniform
// in ±1/sqrt(out), b = 0. Always computes in the dtype of the masters.
class Linear : Layer {
 public:
  Linear(Builder& builder, const std::string& name, int64_t in, int64_t out, LinearInit init);
  at::Tensor forward(const at::Tensor& x) const;

 private:
  at::Tensor weight_, bias_;
};

// Squeeze-excite: x * sigmoid(fc2(silu(fc1(mean over pixels)))). fc1 and fc2 are 1×1 convolutions
// by shape and name.
class SqueezeExcite : Layer {
 public:
  SqueezeExcite(Builder& builder, const std::string& name, int64_t channels, int64_t squeezed);
  at::Tensor forward(const at::Tensor& x) const;

 private:
  at::Tensor weight1_, bias1_, weight2_, bias2_;
};

// Mean over the pixels, dropout: N×C×H×W to N×C in the dtype of the statistics.
class PooledFeatures : Layer {
 public:
  PooledFeatures(Builder& builder, double dropout);
  at::Tensor forward(const at::Tensor& x, bool training, const StepContext& context) const;

 private:
  double dropout_;
  uint64_t mask_layer_;
};

// Adds a residual branch, dropped per image with probability `drop` in training.
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
