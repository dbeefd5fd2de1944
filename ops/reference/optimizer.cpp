// Plain loops that define the optimizer passes. They compute in the type of the parameters, in
// PyTorch's order of operations. So results differ from PyTorch's element-wise implementation by at
// most the last bit or two.

#include <cmath>

#include "ops/reference/kernels.h"
#include "ops/reference/types.h"

namespace shoal::ops::reference_kernels {
namespace {

void write_copy(const OptimizerStep& step, int64_t i, double value) {
  if (step.copy == nullptr) return;
  const float narrow = static_cast<float>(value);
  if (step.copy_type == Type::bf16) {
    static_cast<Bf16*>(step.copy)[i] = Element<Bf16>::store(narrow);
  } else {
    static_cast<_Float16*>(step.copy)[i] = Element<_Float16>::store(narrow);
  }
}

double clip_factor(const OptimizerStep& step) {
  if (step.gradient_norm == nullptr) return 1;
  return std::fmin(1.0, step.clip / (*step.gradient_norm + 1e-6));
}

// Calls update(segment, i, clipped gradient) for each element of each segment and refreshes the
// copy.
template <typename T, typename Update>
void for_each_element(const OptimizerStep& step, Update update) {
  if (step.non_finite != nullptr && *step.non_finite != 0) return;
  const T factor = static_cast<T>(clip_factor(step));
  const T* gradients = static_cast<const T*>(step.gradients);
  T* parameters = static_cast<T*>(step.parameters);
  for (int64_t s = 0; s < step.segment_count; ++s) {
    const Segment& segment = step.segments[s];
    for (int64_t i = segment.offset; i < segment.offset + segment.length; ++i) {
      update(segment, i, gradients[i] * factor);
      write_copy(step, i, static_cast<double>(parameters[i]));
    }
  }
}

template <typename T>
void sgd_typed(const OptimizerStep& step) {
  T* p = static_cast<T*>(step.parameters);
  T* m = static_cast<T*>(step.state1);
  const T momentum = static_cast<T>(step.momentum);
  for_each_element<T>(step, [&](const Segment& segment, int64_t i, T g) {
    const T lr = static_cast<T>(step.lr * segment.lr_scale);
    g += static_cast<T>(segment.weight_decay) * p[i];
    if (step.momentum != 0) {
      m[i] = momentum * m[i] + g;
      g = step.nesterov ? g + momentum * m[i] : m[i];
    }
    p[i] -= lr * g;
  });
}

template <typename T>
void rmsprop_tf_typed(const OptimizerStep& step) {
  T* p = static_cast<T*>(step.parameters);
  T* mean_square = static_cast<T*>(step.state1);
  T* m = static_cast<T*>(step.state2);
  const T momentum = static_cast<T>(step.momentum);
  const T forget = static_cast<T>(1 - step.alpha);
  const T eps = static_cast<T>(step.eps);
  for_each_element<T>(step, [&](const Segment& segment, int64_t i, T g) {
    const T lr = static_cast<T>(step.lr * segment.lr_scale);
    g += static_cast<T>(segment.weight_decay) * p[i];
    mean_square[i] += forget * (g * g - mean_square[i]);
    const T change = lr * (g / std::sqrt(mean_square[i] + eps));
    if (step.momentum != 0) {
      m[i] = momentum * m[i] + change;
      p[i] -= m[i];
    } else {
      p[i] -= change;
    }
  });
}

template <typename T>
void adamw_typed(const OptimizerStep& step) {
  T* p = static_cast<T*>(step.parameters);
  T* mean = static_cast<T*>(step.state1);
  T* mean_square = static_cast<T*>(step.state2);
  const T forget1 = static_cast<T>(1 - step.beta1);
  const T keep2 = static_cast<T>(step.beta2);
  const T forget2 = static_cast<T>(1 - step.beta2);
  const T eps = static_cast<T>(step.eps);
  for_each_element<T>(step, [&](const Segment& segment, int64_t i, T g) {
    const double steps = static_cast<double>(step.step - segment.first_step);
    const double correction1 = 1 - std::pow(step.beta1, steps);
    const double correction2 = 1 - std::pow(step.beta2, steps);
    const T root2 = static_cast<T>(std::sqrt(correction2));
    const double lr = step.lr * segment.lr_scale;
    p[i] *= static_cast<T>(1 - lr * segment.weight_decay);
    mean[i] += forget1 * (g - mean[i]);
    mean_square[i] = keep2 * mean_square[i] + forget2 * (g * g);
    const T denominator = std::sqrt(mean_square[i]) / root2 + eps;
    p[i] -= static_cast<T>(lr / correction1) * (mean[i] / denominator);
  });
}

template <typename T>
void ema_typed(T* average, const T* parameters, int64_t total, double decay) {
  const T forget = static_cast<T>(1 - decay);
  for (int64_t i = 0; i < total; ++i) average[i] += forget * (parameters[i] - average[i]);
}

}  // namespace

void gradient_norm(Type type, const void* gradients, int64_t total, double* norm,
                   int32_t* non_finite, void*) {
  double sum = 0;
  for (int64_t i = 0; i < total; ++i) {
    const double g = type == Type::f64 ? static_cast<const double*>(gradients)[i]
                                       : static_cast<const float*>(gradients)[i];
    sum += g * g;
  }
  *norm = std::sqrt(sum);
  if (!std::isfinite(*norm)) *non_finite = 1;
}

void sgd(const OptimizerStep& step, void*) {
  step.type == Type::f64 ? sgd_typed<double>(step) : sgd_typed<float>(step);
}

void rmsprop_tf(const OptimizerStep& step, void*) {
  step.type == Type::f64 ? rmsprop_tf_typed<double>(step) : rmsprop_tf_typed<float>(step);
}

void adamw(const OptimizerStep& step, void*) {
  step.type == Type::f64 ? adamw_typed<double>(step) : adamw_typed<float>(step);
}

void ema(Type type, void* average, const void* parameters, int64_t total, double decay,
         const int32_t* non_finite, void*) {
  if (non_finite != nullptr && *non_finite != 0) return;
  if (type == Type::f64) {
    ema_typed(static_cast<double*>(average), static_cast<const double*>(parameters), total, decay);
  } else {
    ema_typed(static_cast<float*>(average), static_cast<const float*>(parameters), total, decay);
  }
}

}  // namespace shoal::ops::reference_kernels
