#pragma once
// Activations and their derivatives. Kernels are compiled for each frequent activation and once for
// all others, so that the frequent ones do not test which it is for every element.

#include <cmath>
#include <type_traits>

#include "ops/cuda/elements.cuh"

namespace shoal::ops::cuda_kernels {

// Returns 1 / (1 + exp(-z)). For Bf16, GPUs compute it with fast instructions, whose error is much
// smaller than that of a rounding to bf16.
template <class S>
SHOAL_BOTH Value<S> sigmoid(Value<S> z) {
#ifdef __CUDA_ARCH__
  if constexpr (std::is_same_v<S, Bf16>) return __fdividef(1.0f, 1.0f + __expf(-z));
#endif
  return 1 / (1 + std::exp(-z));
}

template <class S>
SHOAL_BOTH Value<S> activate(Activation activation, Value<S> z) {
  using V = Value<S>;
  if (activation == Activation::relu) return z <= 0 ? V(0) : z;  // NaN stays NaN
  if (activation == Activation::relu6) return z <= 0 ? V(0) : z >= 6 ? V(6) : z;
  if (activation == Activation::silu) return z * sigmoid<S>(z);
  if (activation == Activation::hard_swish) return z <= -3 ? V(0) : z >= 3 ? z : z * (z + 3) / 6;
  return z;
}

// Returns the derivative of the activation at z.
template <class S>
SHOAL_BOTH Value<S> slope(Activation activation, Value<S> z) {
  using V = Value<S>;
  if (activation == Activation::relu) return z <= 0 ? V(0) : V(1);
  if (activation == Activation::relu6) return z <= 0 || z >= 6 ? V(0) : V(1);
  if (activation == Activation::silu) {
    const V s = sigmoid<S>(z);
    return s * (1 + z * (1 - s));
  }
  if (activation == Activation::hard_swish) return z <= -3 ? V(0) : z >= 3 ? V(1) : (2 * z + 3) / 6;
  return 1;
}

// An activation that is known when the kernel is compiled.
template <Activation kActivation>
struct Fixed {
  SHOAL_BOTH constexpr operator Activation() const { return kActivation; }
};

// Calls f with Fixed<activation> or, for rare activations, types and widths, with the activation
// itself.
template <class S, int kWidth, class F>
void with_activation(Activation activation, F&& f) {
  if constexpr (kWidth > 1 && !std::is_same_v<S, double>) {
    if (activation == Activation::none) return f(Fixed<Activation::none>{});
    if (activation == Activation::relu) return f(Fixed<Activation::relu>{});
    if (activation == Activation::silu) return f(Fixed<Activation::silu>{});
  }
  f(activation);
}

}  // namespace shoal::ops::cuda_kernels
