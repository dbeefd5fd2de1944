// Plain loops that apply the rules of optimizer_rules.h. Results differ from PyTorch's element-wise
// implementation by at most the last bit or two.

#include <math.h>

#include <cmath>

#include "base/both.h"
#include "ops/reference/kernels.h"
#include "ops/reference/types.h"

namespace shoal::ops::reference_kernels {
namespace {

#include "ops/optimizer_rules.h"

void write_copy(const OptimizerStep& step, int64_t i, double value) {
  if (step.copy == nullptr) return;
  static_cast<Bf16*>(step.copy)[i] = Element<Bf16>::store(static_cast<float>(value));
}

// Calls change(parameter, clipped gradient, state) for each element of the segment. `change` may
// change the parameter and the state.
template <typename T, typename Change>
void for_each_element(const OptimizerStep& step, const Segment& segment, Change change) {
  const T factor = static_cast<T>(clip_factor(step));
  T* parameters = static_cast<T*>(step.parameters);
  for (int64_t i = segment.offset; i < segment.offset + segment.length; ++i) {
    T state[kMaxOptimizerStates];
    load_state(step, i, state);
    change(parameters[i], static_cast<const T*>(step.gradients)[i] * factor, state);
    store_state(step, i, state);
    write_copy(step, i, static_cast<double>(parameters[i]));
  }
}

template <typename Rule, typename T>
void update_segment(const OptimizerStep& step, const Segment& segment) {
  const Rule rule(step, segment);
  if constexpr (Rule::kTrustRatio) {
    double parameters = 0, changes = 0;
    for_each_element<T>(step, segment, [&](T& p, T g, T* s) {
      rule.track(g, s);
      const double parameter = p, change = rule.change(p, s);
      parameters += parameter * parameter;
      changes += change * change;
    });
    const T lr = trusted_rate<T>(step, segment, trust_ratio(segment, parameters, changes));
    for_each_element<T>(step, segment, [&](T& p, T, T* s) { p -= lr * rule.change(p, s); });
  } else {
    for_each_element<T>(step, segment, rule);
  }
}

template <template <class> class Rule>
void update_all(const OptimizerStep& step) {
  for (int64_t i = 0; i < step.segment_count; ++i) {
    const Segment& segment = step.segments[i];
    step.type == Type::f64 ? update_segment<Rule<double>, double>(step, segment)
                           : update_segment<Rule<float>, float>(step, segment);
  }
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

void optimize(const OptimizerStep& step, void*) {
  if (step.non_finite != nullptr && *step.non_finite != 0) return;
  switch (step.kind) {
#define OPTIMIZER(name, Rule, ...) \
  case OptimizerKind::name:        \
    return update_all<Rule>(step);
#include "ops/optimizers.def"
  }
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
