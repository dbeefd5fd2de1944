// The optimizers for one range of one segment, written for auto-vectorization. Compiled once per
// instruction set, in a namespace of its own (SHOAL_LOOPS) and with internal linkage, so the linker
// keeps the copies apart.
//
// All loops except sum_squares perform the same operations in the same order as
// ops/reference/optimizer.cpp, and -ffp-contract=off keeps the compiler from fusing operations. So
// their results are bit-identical to the reference, except LAMB's, which depend on sum_squares.

#include <math.h>

#include <cstdint>
#include <cstring>

#include "base/both.h"
#include "ops/cpu/optimizer_range.h"

namespace shoal::ops::cpu_kernels::SHOAL_LOOPS {
namespace {

#include "ops/optimizer_rules.h"

// Has one member per state buffer (s0, s1), because the compiler ignores __restrict in arrays.
template <typename T>
struct Pointers {
  T* __restrict p;
  const T* __restrict g;
  T* __restrict s0;
  T* __restrict s1;
  explicit Pointers(const OptimizerStep& step)
      : p(static_cast<T*>(step.parameters)),
        g(static_cast<const T*>(step.gradients)),
        s0(static_cast<T*>(step.state[0])),
        s1(static_cast<T*>(step.state[1])) {
    static_assert(kMaxOptimizerStates == 2);
  }
};

// Applies a rule without a trust ratio. kStates: number of state buffers that exist.
template <typename Rule, typename T, int kStates>
void apply(const OptimizerRange& r) {
  const Pointers<T> v(*r.step);
  const Rule rule(*r.step, *r.segment);
  const T factor = static_cast<T>(clip_factor(*r.step));
  for (int64_t i = r.begin; i < r.end; ++i) {
    T p = v.p[i], s[kMaxOptimizerStates] = {};
    if constexpr (kStates > 0) s[0] = v.s0[i];
    if constexpr (kStates > 1) s[1] = v.s1[i];
    rule(p, v.g[i] * factor, s);
    if constexpr (kStates > 0) v.s0[i] = s[0];
    if constexpr (kStates > 1) v.s1[i] = s[1];
    v.p[i] = p;
  }
}

// Updates the parameters. If the rule has a trust ratio, track() must compute the norms first.
template <typename Rule, typename T>
void update(const OptimizerRange& r) {
  if constexpr (Rule::kTrustRatio) {
    const Pointers<T> v(*r.step);
    const Rule rule(*r.step, *r.segment);
    const double ratio = trust_ratio(*r.segment, r.norms.parameters, r.norms.changes);
    const T lr = trusted_rate<T>(*r.step, *r.segment, ratio);
    for (int64_t i = r.begin; i < r.end; ++i) {
      const T s[] = {v.s0[i], v.s1[i]};
      v.p[i] -= lr * rule.change(v.p[i], s);
    }
  } else if (r.step->state[0] == nullptr) {
    apply<Rule, T, 0>(r);
  } else if (r.step->state[1] == nullptr) {
    apply<Rule, T, 1>(r);
  } else {
    apply<Rule, T, 2>(r);
  }
}

template <typename T>
void ema(void* average, const void* parameters, int64_t begin, int64_t end, double decay) {
  T* __restrict a = static_cast<T*>(average);
  const T* __restrict p = static_cast<const T*>(parameters);
  const T forget = static_cast<T>(1 - decay);
  for (int64_t i = begin; i < end; ++i) a[i] += forget * (p[i] - a[i]);
}

// Returns the sum of squares of elements [begin, end). Computes 16 sums in parallel, because one
// sum would be a single chain of dependent additions.
template <typename T>
double sum_squares(const void* values, int64_t begin, int64_t end) {
  const T* v = static_cast<const T*>(values);
  constexpr int kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double value = static_cast<double>(v[i + lane]);
      lanes[lane] += value * value;
    }
  }
  double sum = 0;
  for (; i < end; ++i) sum += static_cast<double>(v[i]) * static_cast<double>(v[i]);
  for (double lane : lanes) sum += lane;
  return sum;
}

// First pass of a rule with a trust ratio. Writes the changes to a small buffer before it sums
// their squares, because GCC does not vectorize loops that also sum.
template <typename Rule, typename T>
SquaredNorms track(const OptimizerRange& r) {
  constexpr int64_t kPart = 256;
  T changes[kPart];
  const Pointers<T> v(*r.step);
  const Rule rule(*r.step, *r.segment);
  const T factor = static_cast<T>(clip_factor(*r.step));
  SquaredNorms norms;
  for (int64_t from = r.begin; from < r.end; from += kPart) {
    const int64_t count = r.end - from < kPart ? r.end - from : kPart;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = from + k;
      T s[] = {v.s0[i], v.s1[i]};
      rule.track(v.g[i] * factor, s);
      v.s0[i] = s[0];
      v.s1[i] = s[1];
      changes[k] = rule.change(v.p[i], s);
    }
    norms.parameters += sum_squares<T>(v.p, from, from + count);
    norms.changes += sum_squares<T>(changes, 0, count);
  }
  return norms;
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

template <typename Rule, typename T>
constexpr OptimizerLoops::Passes passes_of() {
  if constexpr (Rule::kTrustRatio) {
    return {update<Rule, T>, track<Rule, T>};
  } else {
    return {update<Rule, T>, nullptr};
  }
}

template <typename T>
constexpr OptimizerLoops loops_for() {
  return {{
#define OPTIMIZER(name, Rule, ...) passes_of<Rule<T>, T>(),
#include "ops/optimizers.def"
          },
          ema<T>,
          sum_squares<T>,
          copy_bf16<T>};
}

}  // namespace

extern const OptimizerLoops kLoops[2];
const OptimizerLoops kLoops[2] = {loops_for<float>(), loops_for<double>()};

}  // namespace shoal::ops::cpu_kernels::SHOAL_LOOPS
