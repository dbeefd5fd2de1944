// The optimizer passes over one range of one segment, written for auto-vectorization. Each
// instruction set includes this file once, in its own namespace (SHOAL_LOOPS), so everything here
// has internal linkage. All loops except sum_squares perform the same operations in the same order
// as ops/reference/optimizer.cpp, and the compiler must not fuse them (-ffp-contract=off). So their
// results are bit-identical to the reference.

#include <cstdint>
#include <cstring>

#include "ops/cpu/optimizer_range.h"

namespace shoal::ops::cpu_kernels::SHOAL_LOOPS {
namespace {

// Avoids std::sqrt, which is an inline function: the linker keeps one copy of it for the whole
// program. That copy could be the one compiled here, with instructions that the processor lacks.
float root(float x) {
  return __builtin_sqrtf(x);
}
double root(double x) {
  return __builtin_sqrt(x);
}

template <typename T>
struct Pointers {
  T* __restrict p;
  const T* __restrict g;
  T* __restrict s1;
  T* __restrict s2;
  explicit Pointers(const OptimizerRange& r)
      : p(static_cast<T*>(r.step->parameters)),
        g(static_cast<const T*>(r.step->gradients)),
        s1(static_cast<T*>(r.step->state1)),
        s2(static_cast<T*>(r.step->state2)) {}
};

template <typename T>
void sgd(const OptimizerRange& r) {
  const Pointers<T> v(r);
  const OptimizerStep& step = *r.step;
  const T factor = static_cast<T>(r.factor), decay = static_cast<T>(r.segment->weight_decay);
  const T lr = static_cast<T>(step.lr * r.segment->lr_scale), mu = static_cast<T>(step.momentum);
  if (step.momentum == 0) {
    for (int64_t i = r.begin; i < r.end; ++i) v.p[i] -= lr * (v.g[i] * factor + decay * v.p[i]);
  } else if (step.nesterov) {
    for (int64_t i = r.begin; i < r.end; ++i) {
      const T g = v.g[i] * factor + decay * v.p[i];
      const T m = mu * v.s1[i] + g;
      v.s1[i] = m;
      v.p[i] -= lr * (g + mu * m);
    }
  } else {
    for (int64_t i = r.begin; i < r.end; ++i) {
      const T m = mu * v.s1[i] + (v.g[i] * factor + decay * v.p[i]);
      v.s1[i] = m;
      v.p[i] -= lr * m;
    }
  }
}

template <typename T>
void rmsprop_tf(const OptimizerRange& r) {
  const Pointers<T> v(r);
  const OptimizerStep& step = *r.step;
  const T factor = static_cast<T>(r.factor), decay = static_cast<T>(r.segment->weight_decay);
  const T lr = static_cast<T>(step.lr * r.segment->lr_scale), mu = static_cast<T>(step.momentum);
  const T forget = static_cast<T>(1 - step.alpha), eps = static_cast<T>(step.eps);
  const bool has_momentum = step.momentum != 0;
  for (int64_t i = r.begin; i < r.end; ++i) {
    const T g = v.g[i] * factor + decay * v.p[i];
    const T square = v.s1[i] + forget * (g * g - v.s1[i]);
    v.s1[i] = square;
    T change = lr * (g / root(square + eps));
    if (has_momentum) {
      change = mu * v.s2[i] + change;
      v.s2[i] = change;
    }
    v.p[i] -= change;
  }
}

template <typename T>
void adamw(const OptimizerRange& r) {
  const Pointers<T> v(r);
  const OptimizerStep& step = *r.step;
  const double lr = step.lr * r.segment->lr_scale;
  const T factor = static_cast<T>(r.factor), eps = static_cast<T>(step.eps);
  const T shrink = static_cast<T>(1 - lr * r.segment->weight_decay);
  const T forget1 = static_cast<T>(1 - step.beta1);
  const T keep2 = static_cast<T>(step.beta2), forget2 = static_cast<T>(1 - step.beta2);
  const T root2 = static_cast<T>(r.root_correction2), size = static_cast<T>(lr / r.correction1);
  for (int64_t i = r.begin; i < r.end; ++i) {
    const T g = v.g[i] * factor;
    const T mean = v.s1[i] + forget1 * (g - v.s1[i]);
    const T square = keep2 * v.s2[i] + forget2 * (g * g);
    v.s1[i] = mean;
    v.s2[i] = square;
    v.p[i] = v.p[i] * shrink - size * (mean / (root(square) / root2 + eps));
  }
}

template <typename T>
void ema(void* average, const void* parameters, int64_t begin, int64_t end, double decay) {
  T* __restrict a = static_cast<T*>(average);
  const T* __restrict p = static_cast<const T*>(parameters);
  const T forget = static_cast<T>(1 - decay);
  for (int64_t i = begin; i < end; ++i) a[i] += forget * (p[i] - a[i]);
}

// Keeps 16 running sums, to break the dependency chain of the additions, and adds them up in a
// fixed order.
template <typename T>
double sum_squares(const void* gradients, int64_t begin, int64_t end) {
  const T* g = static_cast<const T*>(gradients);
  constexpr int kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double value = static_cast<double>(g[i + lane]);
      lanes[lane] += value * value;
    }
  }
  double sum = 0;
  for (; i < end; ++i) sum += static_cast<double>(g[i]) * static_cast<double>(g[i]);
  for (double lane : lanes) sum += lane;
  return sum;
}

template <typename T>
void copy_bf16(const void* parameters, void* copy, int64_t begin, int64_t end) {
  const T* __restrict p = static_cast<const T*>(parameters);
  uint16_t* __restrict out = static_cast<uint16_t*>(copy);
  for (int64_t i = begin; i < end; ++i) {
    const float value = static_cast<float>(p[i]);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    out[i] = static_cast<uint16_t>(value == value ? rounded : (bits >> 16) | 0x40);
  }
}

template <typename T>
void copy_f16(const void* parameters, void* copy, int64_t begin, int64_t end) {
  const T* p = static_cast<const T*>(parameters);
  for (int64_t i = begin; i < end; ++i) {
    const _Float16 half = static_cast<_Float16>(static_cast<float>(p[i]));
    std::memcpy(static_cast<uint16_t*>(copy) + i, &half, sizeof(half));
  }
}

template <typename T>
constexpr OptimizerLoops loops_for() {
  return {sgd<T>, rmsprop_tf<T>, adamw<T>, ema<T>, sum_squares<T>, copy_bf16<T>, copy_f16<T>};
}

}  // namespace

extern const OptimizerLoops kLoops[2];
const OptimizerLoops kLoops[2] = {loops_for<float>(), loops_for<double>()};

}  // namespace shoal::ops::cpu_kernels::SHOAL_LOOPS
