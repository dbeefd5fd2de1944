#pragma once
// The optimizer passes over the flat buffers, with PyTorch's order of operations. One thread per
// element, except for the gradient norm, which column_sums() computes.

#include <cmath>

#include "ops/cuda/column_sums.cuh"
#include "ops/cuda/elements.cuh"

namespace shoal::ops::cuda_kernels {

// Returns the segment that contains element i, or nullptr if i is padding.
SHOAL_BOTH inline const Segment* segment_of(const OptimizerStep& step, int64_t i) {
  int64_t low = 0, high = step.segment_count;
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (step.segments[middle].offset <= i ? low : high) = middle;
  }
  const Segment* segment = step.segments + low;
  return i >= segment->offset && i < segment->offset + segment->length ? segment : nullptr;
}

SHOAL_BOTH inline void write_copy(const OptimizerStep& step, int64_t i, double value) {
  if (!step.copy) return;
  const auto narrow = static_cast<float>(value);
  if (step.copy_type == Type::bf16) {
    static_cast<Bf16*>(step.copy)[i] = Element<Bf16>::store(narrow);
  } else {
    static_cast<F16*>(step.copy)[i] = Element<F16>::store(narrow);
  }
}

// The element-wise update rules. `i` is the element's index, `g` its clipped gradient.
template <class T>
struct Sgd {
  SHOAL_BOTH static void update(const OptimizerStep& step, const Segment& segment, int64_t i, T g) {
    T* p = static_cast<T*>(step.parameters);
    T* m = static_cast<T*>(step.state1);
    const T momentum = static_cast<T>(step.momentum);
    g += static_cast<T>(segment.weight_decay) * p[i];
    if (step.momentum != 0) {
      m[i] = momentum * m[i] + g;
      g = step.nesterov ? g + momentum * m[i] : m[i];
    }
    p[i] -= static_cast<T>(step.lr * segment.lr_scale) * g;
  }
};

template <class T>
struct RmspropTf {
  SHOAL_BOTH static void update(const OptimizerStep& step, const Segment& segment, int64_t i, T g) {
    T* p = static_cast<T*>(step.parameters);
    T* mean_square = static_cast<T*>(step.state1);
    T* m = static_cast<T*>(step.state2);
    g += static_cast<T>(segment.weight_decay) * p[i];
    mean_square[i] += static_cast<T>(1 - step.alpha) * (g * g - mean_square[i]);
    const T change = static_cast<T>(step.lr * segment.lr_scale) *
                     (g / std::sqrt(mean_square[i] + static_cast<T>(step.eps)));
    if (step.momentum != 0) {
      m[i] = static_cast<T>(step.momentum) * m[i] + change;
      p[i] -= m[i];
    } else {
      p[i] -= change;
    }
  }
};

template <class T>
struct AdamW {
  SHOAL_BOTH static void update(const OptimizerStep& step, const Segment& segment, int64_t i, T g) {
    T* p = static_cast<T*>(step.parameters);
    T* mean = static_cast<T*>(step.state1);
    T* mean_square = static_cast<T*>(step.state2);
    const auto steps = static_cast<double>(step.step - segment.first_step);
    const double correction1 = 1 - std::pow(step.beta1, steps);
    const double correction2 = 1 - std::pow(step.beta2, steps);
    const double lr = step.lr * segment.lr_scale;
    p[i] *= static_cast<T>(1 - lr * segment.weight_decay);
    mean[i] += static_cast<T>(1 - step.beta1) * (g - mean[i]);
    mean_square[i] =
        static_cast<T>(step.beta2) * mean_square[i] + static_cast<T>(1 - step.beta2) * (g * g);
    const T denominator = std::sqrt(mean_square[i]) / static_cast<T>(std::sqrt(correction2)) +
                          static_cast<T>(step.eps);
    p[i] -= static_cast<T>(lr / correction1) * (mean[i] / denominator);
  }
};

template <template <class> class Rule, class T>
void update_all(const OptimizerStep& step, void* stream) {
  for_each_index(step.total, stream, [=] SHOAL_BOTH(int64_t i) {
    if (step.non_finite && *step.non_finite != 0) return;
    const Segment* segment = segment_of(step, i);
    if (!segment) return;
    double factor = 1;
    if (step.gradient_norm) factor = std::fmin(1.0, step.clip / (*step.gradient_norm + 1e-6));
    const T g = static_cast<const T*>(step.gradients)[i] * static_cast<T>(factor);
    Rule<T>::update(step, *segment, i, g);
    write_copy(step, i, static_cast<double>(static_cast<const T*>(step.parameters)[i]));
  });
}

template <template <class> class Rule>
void update(const OptimizerStep& step, void* stream) {
  if (step.type == Type::f64) {
    update_all<Rule, double>(step, stream);
  } else {
    update_all<Rule, float>(step, stream);
  }
}

template <class T>
struct SquaredElements {
  struct Lane {
    SHOAL_BOTH void add(int64_t i, double (*sums)[1]) const {
      const double g = values[i];
      sums[0][0] += g * g;
    }
    const T* values;
  };
  SHOAL_BOTH Lane lane(int64_t) const { return {values}; }
  const T* values;
};

template <class T>
void typed_gradient_norm(const void* gradients, int64_t total, double* norm, int32_t* non_finite,
                         void* stream) {
  column_sums<1, 1>(1, total, 1, stream, SquaredElements<T>{static_cast<const T*>(gradients)},
                    [=] SHOAL_BOTH(int64_t, int64_t, double sum) {
                      *norm = std::sqrt(sum);
                      if (!(*norm <= 1.7976931348623157e308)) *non_finite = 1;
                    });
}

template <class T>
void typed_ema(T* average, const T* parameters, int64_t total, double decay,
               const int32_t* non_finite, void* stream) {
  const T forget = static_cast<T>(1 - decay);
  for_each_index(total, stream, [=] SHOAL_BOTH(int64_t i) {
    if (non_finite && *non_finite != 0) return;
    average[i] += forget * (parameters[i] - average[i]);
  });
}

inline void gradient_norm(Type type, const void* gradients, int64_t total, double* norm,
                          int32_t* non_finite, void* stream) {
  if (type == Type::f64) {
    typed_gradient_norm<double>(gradients, total, norm, non_finite, stream);
  } else {
    typed_gradient_norm<float>(gradients, total, norm, non_finite, stream);
  }
}

inline void ema(Type type, void* average, const void* parameters, int64_t total, double decay,
                const int32_t* non_finite, void* stream) {
  if (type == Type::f64) {
    typed_ema(static_cast<double*>(average), static_cast<const double*>(parameters), total, decay,
              non_finite, stream);
  } else {
    typed_ema(static_cast<float*>(average), static_cast<const float*>(parameters), total, decay,
              non_finite, stream);
  }
}

}  // namespace shoal::ops::cuda_kernels
