#pragma once
// Helpers shared by the autograd functions.

#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>

#include <memory>
#include <utility>

#include "models/functions.h"
#include "ops/ops.h"

namespace shoal::models {

// Returns the tensor's dtype as an ops::Type. Throws std::invalid_argument for a dtype that ops/
// does not support.
ops::Type type_of(const at::Tensor& x);

inline at::Tensor channels_last(const at::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}

// Holds a C++ value in an autograd function's saved_data, to pass it from forward to backward.
template <class T>
struct Capsule : torch::CustomClassHolder {
  explicit Capsule(T v) : value(std::move(v)) {}
  T value;
};

template <class T>
c10::IValue encapsulate(T value) {
  return c10::IValue::make_capsule(c10::make_intrusive<Capsule<T>>(std::move(value)));
}

template <class T>
const T& decapsulate(const c10::IValue& value) {
  return static_cast<const Capsule<T>*>(value.toCapsule().get())->value;
}

// Differentiable depthwise convolution in float64 (depthwise_double.cpp).
at::Tensor double_depthwise(const at::Tensor& x, const at::Tensor& weight,
                            const ConvolutionShape& shape);

}  // namespace shoal::models
