// Loops over activations, written with GCC's vector types. Compiled once per instruction set, in a
// namespace of its own (SHOAL_LOOPS) and with internal linkage, so the linker keeps the copies
// apart.
//
// All loops are memory-bound and read their rows once, in order. Column sums are computed in float
// over 64 rows and then added to a double, so they stay precise for any number of rows.

#include <cstdint>

#include "ops/cpu/activations.h"
#include "ops/cpu/activations_math.h"

namespace shoal::ops::cpu_kernels::SHOAL_LOOPS {
namespace {

constexpr int64_t kBlock = 64;  // number of rows to sum in float before adding to a double

// Calls f(element offset, channel) for each vector of kLanes elements, in memory order.
template <class F>
inline void for_each_vector(int64_t rows, int64_t channels, F f) {
  for (int64_t r = 0, i = 0; r < rows; ++r) {
    for (int64_t c = 0; c < channels; c += kLanes, i += kLanes) f(i, c);
  }
}

template <int kinds>
inline void flush(int64_t channels, float* part, double* sums) {
  for (int64_t i = 0; i < kinds * channels; ++i) {
    sums[i] += part[i];
    part[i] = 0;
  }
}

// For each vector of each row, f(offset, channel, values) computes `kinds` vectors. Adds the column
// sums of values[k] to sums[k * channels + c]. Reads strictly in memory order. Summing several rows
// in registers first would take fewer instructions, but would alternate between rows, which is half
// as fast.
template <int kinds, class F>
inline void column_sums(int64_t rows, int64_t channels, double* sums, F f) {
  alignas(64) float part[kinds * kMaxChannels];
  __builtin_memset(part, 0, sizeof(float) * kinds * channels);
  for (int64_t r = 0, i = 0; r < rows; ++r) {
    for (int64_t c = 0; c < channels; c += kLanes, i += kLanes) {
      Vec values[kinds];
      f(i, c, values);
      for (int k = 0; k < kinds; ++k) {
        float* total = part + k * channels + c;
        store(total, load(total) + values[k]);
      }
    }
    if ((r + 1) % kBlock == 0) flush<kinds>(channels, part, sums);
  }
  flush<kinds>(channels, part, sums);
}

template <class S>
void norm_sums(const void* x_any, int64_t rows, int64_t channels, const float* origin,
               double* sums) {
  const S* x = static_cast<const S*>(x_any);
  column_sums<2>(rows, channels, sums, [=](int64_t i, int64_t c, Vec* values) {
    values[0] = load(x + i) - load(origin + c);
    values[1] = values[0] * values[0];
  });
}

template <class S, Activation activation, bool residual>
inline Vec activation_input(const NormRows& op, int64_t i, int64_t c, Vec x) {
  const Vec z = multiply_add(x, load(op.scale + c), load(op.shift + c));
  return residual ? z + load(static_cast<const S*>(op.residual) + i) : z;
}

// The batch norm loops for one activation, with or without residual.
template <class S, Activation activation, bool residual>
struct Norm {
  template <bool streaming>
  static void apply(const NormRows& op) {
    const S* x = static_cast<const S*>(op.x);
    S* y = static_cast<S*>(op.y);
    for_each_vector(op.rows, op.channels, [=](int64_t i, int64_t c) {
      put<streaming>(y + i, activate<activation>(
                                activation_input<S, activation, residual>(op, i, c, load(x + i))));
    });
  }

  static void backward_sums(const NormRows& op, double* sums) {
    const S* x = static_cast<const S*>(op.x);
    const S* dy = static_cast<const S*>(op.dy);
    column_sums<2>(op.rows, op.channels, sums, [=](int64_t i, int64_t c, Vec* values) {
      const Vec v = load(x + i);
      values[0] =
          chain<activation>(activation_input<S, activation, residual>(op, i, c, v), load(dy + i));
      values[1] = values[0] * (v - load(op.mean + c));
    });
  }

  template <bool streaming, bool d_residual>
  static void backward_apply(const NormRows& op) {
    const S* x = static_cast<const S*>(op.x);
    const S* dy = static_cast<const S*>(op.dy);
    S* dx = static_cast<S*>(op.dx);
    S* dr = static_cast<S*>(op.d_residual);
    for_each_vector(op.rows, op.channels, [=](int64_t i, int64_t c) {
      const Vec v = load(x + i);
      const Vec dz =
          chain<activation>(activation_input<S, activation, residual>(op, i, c, v), load(dy + i));
      if (d_residual) put<streaming>(dr + i, dz);
      put<streaming>(dx + i,
                     multiply_add(dz, load(op.scale + c),
                                  multiply_add(v, load(op.slope + c), load(op.offset + c))));
    });
  }
};

// Calls f with the Norm specialization for op's activation and residual.
template <class S, class F>
inline void choose(const NormRows& op, F f) {
  switch (op.activation) {
    case Activation::none:
      return op.residual ? f(Norm<S, Activation::none, true>{})
                         : f(Norm<S, Activation::none, false>{});
    case Activation::relu:
      return op.residual ? f(Norm<S, Activation::relu, true>{})
                         : f(Norm<S, Activation::relu, false>{});
    case Activation::relu6:
      return op.residual ? f(Norm<S, Activation::relu6, true>{})
                         : f(Norm<S, Activation::relu6, false>{});
    case Activation::silu:
      return op.residual ? f(Norm<S, Activation::silu, true>{})
                         : f(Norm<S, Activation::silu, false>{});
    case Activation::hard_swish:
      return op.residual ? f(Norm<S, Activation::hard_swish, true>{})
                         : f(Norm<S, Activation::hard_swish, false>{});
  }
}

template <class S>
void norm_apply(const NormRows& op) {
  choose<S>(op, [&](auto norm) {
    if (!op.stream) return norm.template apply<false>(op);
    norm.template apply<true>(op);
    finish_streaming();
  });
}

template <class S>
void norm_backward_sums(const NormRows& op, double* sums) {
  choose<S>(op, [&](auto norm) { norm.backward_sums(op, sums); });
}

template <class S>
void norm_backward_apply(const NormRows& op) {
  choose<S>(op, [&](auto norm) {
    if (op.stream) {
      op.d_residual ? norm.template backward_apply<true, true>(op)
                    : norm.template backward_apply<true, false>(op);
      finish_streaming();
    } else {
      op.d_residual ? norm.template backward_apply<false, true>(op)
                    : norm.template backward_apply<false, false>(op);
    }
  });
}

template <class S>
void gate_pool(const GateRows& op, double* sums) {
  const S* x = static_cast<const S*>(op.x);
  column_sums<1>(op.rows, op.channels, sums,
                 [=](int64_t i, int64_t, Vec* values) { values[0] = load(x + i); });
}

template <class S>
void gate_backward_sums(const GateRows& op, double* sums) {
  const S* x = static_cast<const S*>(op.x);
  const S* dy = static_cast<const S*>(op.dy);
  column_sums<1>(op.rows, op.channels, sums,
                 [=](int64_t i, int64_t, Vec* values) { values[0] = load(dy + i) * load(x + i); });
}

template <class S, bool streaming>
inline void gate_apply_rows(const GateRows& op) {
  const S* x = static_cast<const S*>(op.x);
  S* y = static_cast<S*>(op.y);
  for_each_vector(op.rows, op.channels, [=](int64_t i, int64_t c) {
    put<streaming>(y + i, load(x + i) * load(op.gate + c));
  });
}

template <class S>
void gate_apply(const GateRows& op) {
  if (!op.stream) return gate_apply_rows<S, false>(op);
  gate_apply_rows<S, true>(op);
  finish_streaming();
}

template <class S, bool streaming>
inline void gate_backward_rows(const GateRows& op) {
  const S* dy = static_cast<const S*>(op.dy);
  S* dx = static_cast<S*>(op.dx);
  for_each_vector(op.rows, op.channels, [=](int64_t i, int64_t c) {
    put<streaming>(dx + i, multiply_add(load(dy + i), load(op.gate + c), load(op.offset + c)));
  });
}

template <class S>
void gate_backward_apply(const GateRows& op) {
  if (!op.stream) return gate_backward_rows<S, false>(op);
  gate_backward_rows<S, true>(op);
  finish_streaming();
}

template <class S>
constexpr ActivationLoops loops() {
  return {norm_sums<S>, norm_apply<S>, norm_backward_sums<S>, norm_backward_apply<S>,
          gate_pool<S>, gate_apply<S>, gate_backward_sums<S>, gate_backward_apply<S>};
}

}  // namespace

extern const ActivationLoops kActivationLoops[2];
const ActivationLoops kActivationLoops[2] = {loops<float>(), loops<uint16_t>()};

}  // namespace shoal::ops::cpu_kernels::SHOAL_LOOPS
