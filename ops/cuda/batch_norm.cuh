#pragma once
// Batch norm, followed by residual addition and activation. Each thread handles one group of
// adjacent channels and keeps their parameters in registers. Several threads ("lanes") may share a
// group: with n lanes, each processes every nth row.

#include <cmath>
#include <type_traits>

#include "ops/cuda/activations.cuh"
#include "ops/cuda/column_sums.cuh"
#include "ops/cuda/elements.cuh"
#include "ops/norm_channel.h"

namespace shoal::ops::cuda_kernels {

// One group of kWidth adjacent channels of a batch norm.
// A: Fixed or Activation.
template <class S, int kWidth, class A>
struct NormGroup {
  using V = Value<S>;

  SHOAL_BOTH NormGroup(const BatchNorm& o, A a, int64_t g)
      : op(o), activation(a), group(g), groups(o.channels / kWidth) {
    for (int j = 0; j < kWidth; ++j) {
      const int64_t c = group * kWidth + j;
      mean[j] = static_cast<const V*>(op.mean)[c];
      inv_std[j] = static_cast<const V*>(op.inv_std)[c];
      weight[j] = static_cast<const V*>(op.weight)[c];
      bias[j] = static_cast<const V*>(op.bias)[c];
    }
  }

  SHOAL_BOTH int64_t at(int64_t row) const { return row * groups + group; }

  struct Packs {
    Pack<S, kWidth> x, residual;
  };

  // Loads a row of x and residual.
  SHOAL_BOTH Packs load(int64_t row) const {
    Packs packs = {};
    packs.x = load_pack<S, kWidth>(op.x, at(row));
    if (op.residual) packs.residual = load_pack<S, kWidth>(op.residual, at(row));
    return packs;
  }

  // Computes the normalized values and the activation's input of a row.
  SHOAL_BOTH void compute(const Packs& packs) {
    V x[kWidth], residual[kWidth];
    convert(packs.x, x);
    convert(packs.residual, residual);
    for (int j = 0; j < kWidth; ++j) {
      normalized[j] = (x[j] - mean[j]) * inv_std[j];
      input[j] = normalized[j] * weight[j] + bias[j] + residual[j];
    }
  }

  // Writes the gradient of the activation's input to dz[kWidth]. Call compute() first.
  SHOAL_BOTH void d_input(const Pack<S, kWidth>& dy, V* dz) const {
    convert(dy, dz);
    for (int j = 0; j < kWidth; ++j) dz[j] *= slope<S>(activation, input[j]);
  }

  const BatchNorm& op;
  A activation;
  int64_t group, groups;
  V mean[kWidth], inv_std[kWidth], weight[kWidth], bias[kWidth];
  V normalized[kWidth], input[kWidth];
};

// The terms that column_sums() adds up for batch_norm_sums: x and x².
template <class S, int kWidth>
struct Squares {
  using Few = FewRows<S>;
  using Packs = Pack<S, kWidth>;
  static constexpr int kRows = 4;
  struct Lane {
    SHOAL_BOTH Packs load(int64_t row) const {
      return load_pack<S, kWidth>(x, row * groups + group);
    }
    SHOAL_BOTH void add(const Packs& pack, Few (*sums)[kWidth]) const {
      Value<S> v[kWidth];
      convert(pack, v);
      for (int j = 0; j < kWidth; ++j) {
        const Few value = v[j];
        sums[0][j] += value;
        sums[1][j] += value * value;
      }
    }
    const void* x;
    int64_t groups, group;
  };
  SHOAL_BOTH Lane lane(int64_t group) const { return {x, groups, group}; }
  const void* x;
  int64_t groups;
};

// The terms that column_sums() adds up for batch_norm_backward_sums: dz and dz * normalized.
template <class S, int kWidth, class A>
struct NormSlopes {
  using Few = FewRows<S>;
  using Norm = NormGroup<S, kWidth, A>;
  struct Packs {
    typename Norm::Packs inputs;
    Pack<S, kWidth> dy;
  };
  static constexpr int kRows = 2;  // more rows would need more registers than two blocks have
  struct Lane {
    SHOAL_BOTH Packs load(int64_t row) const {
      return {norm.load(row), load_pack<S, kWidth>(dy, norm.at(row))};
    }
    SHOAL_BOTH void add(const Packs& packs, Few (*sums)[kWidth]) {
      Value<S> dz[kWidth];
      norm.compute(packs.inputs);
      norm.d_input(packs.dy, dz);
      for (int j = 0; j < kWidth; ++j) {
        sums[0][j] += static_cast<Few>(dz[j]);
        sums[1][j] += static_cast<Few>(dz[j] * norm.normalized[j]);
      }
    }
    Norm norm;
    const void* dy;
  };
  SHOAL_BOTH Lane lane(int64_t group) const { return {Norm(op, activation, group), dy}; }
  BatchNorm op;
  A activation;
  const void* dy;
};

template <class S, int kWidth>
void typed_batch_norm_sums(const void* x, int64_t rows, int64_t channels, double* out,
                           const BatchNormFinish* finish, void* stream) {
  const double count = static_cast<double>(rows);
  const bool finishes = finish != nullptr;
  const BatchNormFinish op = finishes ? *finish : BatchNormFinish{};
  column_sums<2, kWidth>(1, rows, channels, stream, Squares<S, kWidth>{x, channels / kWidth},
                         [=] SHOAL_BOTH(int64_t, int64_t c, const double* sums) {
                           out[c] = sums[0];
                           out[channels + c] = sums[1];
                           if (c == 0) out[2 * channels] = count;
                           if (finishes) finish_channel<Value<S>>(op, c, sums[0], sums[1], count);
                         });
}

template <class S>
void typed_batch_norm_finish(const BatchNormFinish& op, void* stream) {
  for_each_index(op.channels, stream, [=] SHOAL_BOTH(int64_t c) {
    finish_channel<Value<S>>(op, c, op.sums[c], op.sums[op.channels + c], op.sums[2 * op.channels]);
  });
}

template <class S, int kWidth, class A>
void typed_batch_norm_apply(const BatchNorm& op, A activation, void* y, void* stream) {
  const int64_t groups = op.channels / kWidth;
  const int64_t lanes = lanes_for(groups, op.rows, kManyThreads);
  for_each_index(groups * lanes, stream, [=] SHOAL_BOTH(int64_t i) {
    // At most max(kManyThreads, groups). Divisions of 64-bit numbers would be slow.
    const auto thread = static_cast<unsigned>(i), width = static_cast<unsigned>(groups);
    NormGroup<S, kWidth, A> norm(op, activation, thread % width);
    for (int64_t row = thread / width; row < op.rows; row += lanes) {
      norm.compute(norm.load(row));
      Value<S> out[kWidth];
      for (int j = 0; j < kWidth; ++j) out[j] = activate<S>(activation, norm.input[j]);
      store_group<S, kWidth>(y, norm.at(row), out);
    }
  });
}

template <class S, int kWidth, class A>
void typed_batch_norm_backward_sums(const BatchNorm& op, A activation, const void* dy, double* out,
                                    const NormGradients& gradients, void* stream) {
  const int64_t channels = op.channels;
  const NormGradients to = gradients;
  column_sums<2, kWidth>(1, op.rows, channels, stream, NormSlopes<S, kWidth, A>{op, activation, dy},
                         [=] SHOAL_BOTH(int64_t, int64_t c, const double* sums) {
                           out[c] = sums[0];
                           out[channels + c] = sums[1];
                           store_gradients<Value<S>>(to, c, sums[0], sums[1]);
                         });
}

template <class S, int kWidth, class A>
void typed_batch_norm_backward_apply(const BatchNorm& op, A activation, const void* dy,
                                     const double* sums, const double* count, void* dx,
                                     void* d_residual, void* stream) {
  using V = Value<S>;
  const int64_t groups = op.channels / kWidth;
  const int64_t lanes = lanes_for(groups, op.rows, kManyThreads);
  for_each_index(groups * lanes, stream, [=] SHOAL_BOTH(int64_t i) {
    // At most max(kManyThreads, groups). Divisions of 64-bit numbers would be slow.
    const auto thread = static_cast<unsigned>(i), width = static_cast<unsigned>(groups);
    NormGroup<S, kWidth, A> norm(op, activation, thread % width);
    V shift[kWidth] = {}, factor[kWidth] = {};
    const double share = count ? 1 / *count : 0;
    for (int j = 0; count && j < kWidth; ++j) {
      const int64_t c = norm.group * kWidth + j;
      shift[j] = static_cast<V>(sums[c] * share);
      factor[j] = static_cast<V>(sums[op.channels + c] * share);
    }
    for (int64_t row = thread / width; row < op.rows; row += lanes) {
      V dz[kWidth], out[kWidth];
      norm.compute(norm.load(row));
      norm.d_input(load_pack<S, kWidth>(dy, norm.at(row)), dz);
      for (int j = 0; j < kWidth; ++j) {
        const V gradient = dz[j] - shift[j] - norm.normalized[j] * factor[j];
        out[j] = norm.weight[j] * norm.inv_std[j] * gradient;
      }
      store_group<S, kWidth>(dx, norm.at(row), out);
      if (d_residual) store_group<S, kWidth>(d_residual, norm.at(row), dz);
    }
  });
}

// Calls f(S{}, Width<n>{}, activation) with the types of a kernel for `op`, which also uses `a`,
// `b` and `c` (arrays like x, or nullptr).
template <class F>
void with_norm_types(const BatchNorm& op, const void* a, const void* b, const void* c, F&& f) {
  with_group_type(op.type, op.channels, {op.x, op.residual, a, b, c}, [&](auto s, auto width) {
    with_activation<decltype(s), decltype(width)::value>(
        op.activation, [&](auto activation) { f(s, width, activation); });
  });
}

inline void batch_norm_sums(Type type, const void* x, int64_t rows, int64_t channels, double* sums,
                            const BatchNormFinish* finish, void* stream) {
  with_group_type(type, channels, {x}, [&](auto s, auto width) {
    typed_batch_norm_sums<decltype(s), decltype(width)::value>(x, rows, channels, sums, finish,
                                                               stream);
  });
}

inline void batch_norm_finish(const BatchNormFinish& op, void* stream) {
  with_type(op.type, [&](auto s) { typed_batch_norm_finish<decltype(s)>(op, stream); });
}

inline void batch_norm_apply(const BatchNorm& op, void* y, void* stream) {
  with_norm_types(op, y, nullptr, nullptr, [&](auto s, auto width, auto activation) {
    typed_batch_norm_apply<decltype(s), decltype(width)::value>(op, activation, y, stream);
  });
}

inline void batch_norm_backward_sums(const BatchNorm& op, const void* dy, double* sums,
                                     const NormGradients& gradients, void* stream) {
  with_norm_types(op, dy, nullptr, nullptr, [&](auto s, auto width, auto activation) {
    typed_batch_norm_backward_sums<decltype(s), decltype(width)::value>(op, activation, dy, sums,
                                                                        gradients, stream);
  });
}

inline void batch_norm_backward_apply(const BatchNorm& op, const void* dy, const double* sums,
                                      const double* count, void* dx, void* d_residual,
                                      void* stream) {
  with_norm_types(op, dy, dx, d_residual, [&](auto s, auto width, auto activation) {
    typed_batch_norm_backward_apply<decltype(s), decltype(width)::value>(
        op, activation, dy, sums, count, dx, d_residual, stream);
  });
}

}  // namespace shoal::ops::cuda_kernels
