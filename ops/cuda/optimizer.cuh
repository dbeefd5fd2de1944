#pragma once
// The optimizers. Each thread applies a rule of optimizer_rules.h to one element of the flat
// buffers or, in the first pass of a rule with a trust ratio, to several. An earlier kernel
// constructs the rule of each segment. column_sums() computes the gradient norm.

#include <math.h>

#include <cmath>
#include <type_traits>

#include "base/both.h"
#include "ops/cuda/column_sums.cuh"
#include "ops/cuda/elements.cuh"

namespace shoal::ops::cuda_kernels {

#include "ops/optimizer_rules.h"

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
  static_cast<Bf16*>(step.copy)[i] = Element<Bf16>::store(static_cast<float>(value));
}

// Calls change(parameter, clipped gradient, state) for element i, and stores the changed parameter
// and state. Does nothing if the gradients are not finite.
template <class T, class Change>
SHOAL_BOTH void change_element(const OptimizerStep& step, int64_t i, const Change& change) {
  if (step.non_finite && *step.non_finite != 0) return;
  T state[kMaxOptimizerStates];
  load_state(step, i, state);
  T& parameter = static_cast<T*>(step.parameters)[i];
  const T factor = static_cast<T>(clip_factor(step));
  change(parameter, static_cast<const T*>(step.gradients)[i] * factor, state);
  store_state(step, i, state);
  write_copy(step, i, static_cast<double>(parameter));
}

// Writes the rule of each segment to `rules`. Constructing a rule may call pow() twice in double
// precision, which is slow on most GPUs. So it is done once per segment, not once per element.
template <class Rule>
void make_rules(const OptimizerStep& step, Rule* rules, void* stream) {
  static_assert(std::is_trivially_copyable_v<Rule>);
  for_each_index(step.segment_count, stream,
                 [=] SHOAL_BOTH(int64_t s) { rules[s] = Rule(step, step.segments[s]); });
}

template <class Rule, class T>
void update_in_one_pass(const OptimizerStep& step, void* stream) {
  Rule* const rules = reinterpret_cast<Rule*>(scratch());
  make_rules(step, rules, stream);
  for_each_index(step.total, stream, [=] SHOAL_BOTH(int64_t i) {
    if (const Segment* segment = segment_of(step, i))
      change_element<T>(step, i, rules[segment - step.segments]);
  });
}

// Divides the segments into pieces, so that many threads can compute the sums for the trust ratios.
// The flat buffers are divided into blocks of equal size. Piece s + b is the part of segment s in
// block b. (s + b is unique, because s and b only grow along the buffers.) Other pieces are empty.
struct Pieces {
  static constexpr int64_t kLanes = 32;  // threads per piece
  struct Sums {
    double parameters, changes;
  };
  const Segment* segments;
  int64_t segment_count, total;
  int64_t block;   // elements per block
  Sums* lanes;     // count() * kLanes elements; lane 0 of a piece finally has the piece's sums
  double* ratios;  // trust ratio of each segment
  void* rest;      // scratch memory for the rules of all segments

  // Uses larger blocks if the sums of small ones would not fit into the scratch memory.
  Pieces(const OptimizerStep& step, size_t rule_bytes)
      : segments(step.segments), segment_count(step.segment_count), total(step.total), block(4096) {
    const auto bytes = [this] { return count() * kLanes * sizeof(Sums); };
    const size_t others = segment_count * (sizeof(double) + rule_bytes);
    while (bytes() + others > kScratchBytes && block < total) block *= 2;
    lanes = reinterpret_cast<Sums*>(scratch());
    ratios = reinterpret_cast<double*>(lanes + count() * kLanes);
    rest = ratios + segment_count;
  }

  int64_t count() const { return segment_count + (total + block - 1) / block; }
  SHOAL_BOTH int64_t first(int64_t segment) const {
    return segment + segments[segment].offset / block;
  }
  SHOAL_BOTH int64_t last(int64_t segment) const {
    return segment + (segments[segment].offset + segments[segment].length - 1) / block;
  }
  // Returns the segment of a piece.
  SHOAL_BOTH int64_t segment_of_piece(int64_t piece) const {
    int64_t low = 0, high = segment_count;
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      (first(middle) <= piece ? low : high) = middle;
    }
    return low;
  }
};

template <class Rule, class T>
void update_in_two_passes(const OptimizerStep& step, void* stream) {
  const Pieces pieces(step, sizeof(Rule));
  Rule* const rules = static_cast<Rule*>(pieces.rest);
  make_rules(step, rules, stream);
  for_each_index(pieces.count() * Pieces::kLanes, stream, [=] SHOAL_BOTH(int64_t i) {
    const int64_t piece = i / Pieces::kLanes, s = pieces.segment_of_piece(piece);
    const Segment& segment = step.segments[s];
    const int64_t from = (piece - s) * pieces.block, to = from + pieces.block;
    const int64_t begin = segment.offset > from ? segment.offset : from;
    const int64_t after = segment.offset + segment.length, end = after < to ? after : to;
    const Rule rule = rules[s];
    Pieces::Sums sums = {0, 0};
    for (int64_t k = begin + i % Pieces::kLanes; k < end; k += Pieces::kLanes) {
      change_element<T>(step, k, [&](T& p, T g, T* state) {
        rule.track(g, state);
        const double parameter = p, change = rule.change(p, state);
        sums.parameters += parameter * parameter;
        sums.changes += change * change;
      });
    }
    pieces.lanes[i] = sums;
  });
  for_each_index(pieces.count(), stream, [=] SHOAL_BOTH(int64_t piece) {
    Pieces::Sums* lanes = pieces.lanes + piece * Pieces::kLanes;
    for (int64_t k = 1; k < Pieces::kLanes; ++k) {
      lanes[0].parameters += lanes[k].parameters;
      lanes[0].changes += lanes[k].changes;
    }
  });
  for_each_index(step.segment_count, stream, [=] SHOAL_BOTH(int64_t s) {
    Pieces::Sums sums = {0, 0};
    for (int64_t piece = pieces.first(s); piece <= pieces.last(s); ++piece) {
      sums.parameters += pieces.lanes[piece * Pieces::kLanes].parameters;
      sums.changes += pieces.lanes[piece * Pieces::kLanes].changes;
    }
    pieces.ratios[s] = trust_ratio(step.segments[s], sums.parameters, sums.changes);
  });
  for_each_index(step.total, stream, [=] SHOAL_BOTH(int64_t i) {
    const Segment* segment = segment_of(step, i);
    if (!segment) return;
    const int64_t s = segment - step.segments;
    const Rule rule = rules[s];
    const T lr = trusted_rate<T>(step, *segment, pieces.ratios[s]);
    change_element<T>(step, i, [&](T& p, T, T* state) { p -= lr * rule.change(p, state); });
  });
}

template <template <class> class Rule, class T>
void update(const OptimizerStep& step, void* stream) {
  if constexpr (Rule<T>::kTrustRatio) {
    update_in_two_passes<Rule<T>, T>(step, stream);
  } else {
    update_in_one_pass<Rule<T>, T>(step, stream);
  }
}

inline void optimize(const OptimizerStep& step, void* stream) {
  switch (step.kind) {
#define OPTIMIZER(name, Rule, ...)                                     \
  case OptimizerKind::name:                                            \
    return step.type == Type::f64 ? update<Rule, double>(step, stream) \
                                  : update<Rule, float>(step, stream);
#include "ops/optimizers.def"
  }
}

// The terms of the gradient norm: the squares of kWidth adjacent gradients.
template <class T, int kWidth>
struct SquaredElements {
  using Few = double;
  using Packs = Pack<T, kWidth>;
  static constexpr int kRows = 4;
  struct Lane {
    SHOAL_BOTH Packs load(int64_t row) const { return load_pack<T, kWidth>(values, row); }
    SHOAL_BOTH void add(const Packs& pack, double (*sums)[1]) const {
      T g[kWidth];
      convert(pack, g);
      for (int j = 0; j < kWidth; ++j) sums[0][0] += static_cast<double>(g[j]) * g[j];
    }
    const void* values;
  };
  SHOAL_BOTH Lane lane(int64_t) const { return {values}; }
  const void* values;
};

template <class T, int kWidth>
void typed_gradient_norm(const void* gradients, int64_t total, double* norm, int32_t* non_finite,
                         void* stream) {
  column_sums<1, 1>(1, total / kWidth, 1, stream, SquaredElements<T, kWidth>{gradients},
                    [=] SHOAL_BOTH(int64_t, int64_t, const double* sum) {
                      *norm = std::sqrt(*sum);
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
  with_group_type(type, total, {gradients}, [&](auto s, auto width) {
    using T = decltype(s);
    if constexpr (!std::is_same_v<T, Bf16>)
      typed_gradient_norm<T, decltype(width)::value>(gradients, total, norm, non_finite, stream);
  });
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
