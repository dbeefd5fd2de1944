#pragma once
// Batch norm, followed by residual addition and activation. Each thread handles one group of
// adjacent channels and keeps their parameters in registers. Several threads ("lanes") may share a
// group: with n lanes, each processes every nth row.

#include <cmath>

#include "ops/cuda/column_sums.cuh"
#include "ops/cuda/elements.cuh"

namespace shoal::ops::cuda_kernels {

template <class V>
SHOAL_BOTH V activate(Activation activation, V z) {
  if (activation == Activation::relu) return z <= 0 ? V(0) : z;  // NaN stays NaN
  if (activation == Activation::relu6) return z <= 0 ? V(0) : z >= 6 ? V(6) : z;
  if (activation == Activation::silu) return z / (1 + std::exp(-z));
  if (activation == Activation::hard_swish) return z <= -3 ? V(0) : z >= 3 ? z : z * (z + 3) / 6;
  return z;
}

// Returns the derivative of the activation at z.
template <class V>
SHOAL_BOTH V slope(Activation activation, V z) {
  if (activation == Activation::relu) return z <= 0 ? V(0) : V(1);
  if (activation == Activation::relu6) return z <= 0 || z >= 6 ? V(0) : V(1);
  if (activation == Activation::silu) {
    const V sigmoid = 1 / (1 + std::exp(-z));
    return sigmoid * (1 + z * (1 - sigmoid));
  }
  if (activation == Activation::hard_swish) return z <= -3 ? V(0) : z >= 3 ? V(1) : (2 * z + 3) / 6;
  return 1;
}

// One group of kWidth adjacent channels of a batch norm.
template <class S, int kWidth>
struct NormGroup {
  using V = Value<S>;

  SHOAL_BOTH NormGroup(const BatchNorm& o, int64_t g)
      : op(o), group(g), groups(o.channels / kWidth) {
    for (int j = 0; j < kWidth; ++j) {
      const int64_t c = group * kWidth + j;
      mean[j] = static_cast<const V*>(op.mean)[c];
      inv_std[j] = static_cast<const V*>(op.inv_std)[c];
      weight[j] = static_cast<const V*>(op.weight)[c];
      bias[j] = static_cast<const V*>(op.bias)[c];
    }
  }

  SHOAL_BOTH int64_t at(int64_t row) const { return row * groups + group; }

  // Reads a row of x and residual, and computes the normalized values and the activation's input.
  SHOAL_BOTH void load(int64_t row) {
    V x[kWidth], residual[kWidth] = {};
    load_group<S, kWidth>(op.x, at(row), x);
    if (op.residual) load_group<S, kWidth>(op.residual, at(row), residual);
    for (int j = 0; j < kWidth; ++j) {
      normalized[j] = (x[j] - mean[j]) * inv_std[j];
      input[j] = normalized[j] * weight[j] + bias[j] + residual[j];
    }
  }

  // Writes the gradient of the activation's input to dz[kWidth]. Call load(row) first.
  SHOAL_BOTH void d_input(const void* dy, int64_t row, V* dz) const {
    load_group<S, kWidth>(dy, at(row), dz);
    for (int j = 0; j < kWidth; ++j) dz[j] *= slope(op.activation, input[j]);
  }

  const BatchNorm& op;
  int64_t group, groups;
  V mean[kWidth], inv_std[kWidth], weight[kWidth], bias[kWidth];
  V normalized[kWidth], input[kWidth];
};

// The terms that column_sums() adds up for batch_norm_sums: x and x².
template <class S, int kWidth>
struct Squares {
  struct Lane {
    SHOAL_BOTH void add(int64_t row, double (*sums)[kWidth]) const {
      Value<S> v[kWidth];
      load_group<S, kWidth>(x, row * groups + group, v);
      for (int j = 0; j < kWidth; ++j) {
        const double value = v[j];
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
template <class S, int kWidth>
struct NormGradients {
  struct Lane {
    SHOAL_BOTH void add(int64_t row, double (*sums)[kWidth]) {
      Value<S> dz[kWidth];
      norm.load(row);
      norm.d_input(dy, row, dz);
      for (int j = 0; j < kWidth; ++j) {
        sums[0][j] += static_cast<double>(dz[j]);
        sums[1][j] += static_cast<double>(dz[j] * norm.normalized[j]);
      }
    }
    NormGroup<S, kWidth> norm;
    const void* dy;
  };
  SHOAL_BOTH Lane lane(int64_t group) const { return {NormGroup<S, kWidth>(op, group), dy}; }
  BatchNorm op;
  const void* dy;
};

template <class S, int kWidth>
void typed_batch_norm_sums(const void* x, int64_t rows, int64_t channels, double* out,
                           void* stream) {
  column_sums<2, kWidth>(
      1, rows, channels, stream, Squares<S, kWidth>{x, channels / kWidth},
      [=] SHOAL_BOTH(int64_t, int64_t column, double sum) { out[column] = sum; });
}

template <class S>
void typed_batch_norm_finish(const BatchNormFinish& op, void* stream) {
  using V = Value<S>;
  for_each_index(op.channels, stream, [=] SHOAL_BOTH(int64_t c) {
    V* pending = static_cast<V*>(op.pending);
    const double count = op.sums[2 * op.channels];
    const double mean = op.sums[c] / count;
    const double difference = op.sums[op.channels + c] / count - mean * mean;
    const double variance = difference < 0 ? 0 : difference;  // NaN stays NaN
    const double unbiased = variance * count / (count > 2 ? count - 1 : 1);
    static_cast<V*>(op.mean)[c] = static_cast<V>(mean);
    static_cast<V*>(op.inv_std)[c] = static_cast<V>(1 / std::sqrt(variance + op.eps));
    V& pending_mean = pending[c];
    V& pending_var = pending[op.channels + c];
    pending_mean = static_cast<V>((1 - op.momentum) * pending_mean + op.momentum * mean);
    pending_var = static_cast<V>((1 - op.momentum) * pending_var + op.momentum * unbiased);
  });
}

template <class S, int kWidth>
void typed_batch_norm_apply(const BatchNorm& op, void* y, void* stream) {
  const int64_t groups = op.channels / kWidth;
  const int64_t lanes = lanes_for(groups, op.rows, kManyThreads);
  for_each_index(groups * lanes, stream, [=] SHOAL_BOTH(int64_t i) {
    NormGroup<S, kWidth> norm(op, i % groups);
    for (int64_t row = i / groups; row < op.rows; row += lanes) {
      norm.load(row);
      Value<S> out[kWidth];
      for (int j = 0; j < kWidth; ++j) out[j] = activate(op.activation, norm.input[j]);
      store_group<S, kWidth>(y, norm.at(row), out);
    }
  });
}

template <class S, int kWidth>
void typed_batch_norm_backward_sums(const BatchNorm& op, const void* dy, double* out,
                                    void* stream) {
  column_sums<2, kWidth>(
      1, op.rows, op.channels, stream, NormGradients<S, kWidth>{op, dy},
      [=] SHOAL_BOTH(int64_t, int64_t column, double sum) { out[column] = sum; });
}

template <class S, int kWidth>
void typed_batch_norm_backward_apply(const BatchNorm& op, const void* dy, const double* sums,
                                     double count, void* dx, void* d_residual, void* stream) {
  using V = Value<S>;
  const int64_t groups = op.channels / kWidth;
  const int64_t lanes = lanes_for(groups, op.rows, kManyThreads);
  for_each_index(groups * lanes, stream, [=] SHOAL_BOTH(int64_t i) {
    NormGroup<S, kWidth> norm(op, i % groups);
    V shift[kWidth] = {}, factor[kWidth] = {};
    for (int j = 0; count >= 0 && j < kWidth; ++j) {
      const int64_t c = norm.group * kWidth + j;
      shift[j] = static_cast<V>(sums[c] / count);
      factor[j] = static_cast<V>(sums[op.channels + c] / count);
    }
    for (int64_t row = i / groups; row < op.rows; row += lanes) {
      V dz[kWidth], out[kWidth];
      norm.load(row);
      norm.d_input(dy, row, dz);
      for (int j = 0; j < kWidth; ++j) {
        const V gradient = dz[j] - shift[j] - norm.normalized[j] * factor[j];
        out[j] = norm.weight[j] * norm.inv_std[j] * gradient;
      }
      store_group<S, kWidth>(dx, norm.at(row), out);
      if (d_residual) store_group<S, kWidth>(d_residual, norm.at(row), dz);
    }
  });
}

inline void batch_norm_sums(Type type, const void* x, int64_t rows, int64_t channels, double* sums,
                            void* stream) {
  with_group_type(type, channels, {x}, [&](auto s, auto width) {
    typed_batch_norm_sums<decltype(s), decltype(width)::value>(x, rows, channels, sums, stream);
  });
}

inline void batch_norm_finish(const BatchNormFinish& op, void* stream) {
  with_type(op.type, [&](auto s) { typed_batch_norm_finish<decltype(s)>(op, stream); });
}

inline void batch_norm_apply(const BatchNorm& op, void* y, void* stream) {
  with_group_type(op.type, op.channels, {op.x, op.residual, y}, [&](auto s, auto width) {
    typed_batch_norm_apply<decltype(s), decltype(width)::value>(op, y, stream);
  });
}

inline void batch_norm_backward_sums(const BatchNorm& op, const void* dy, double* sums,
                                     void* stream) {
  with_group_type(op.type, op.channels, {op.x, op.residual, dy}, [&](auto s, auto width) {
    typed_batch_norm_backward_sums<decltype(s), decltype(width)::value>(op, dy, sums, stream);
  });
}

inline void batch_norm_backward_apply(const BatchNorm& op, const void* dy, const double* sums,
                                      double count, void* dx, void* d_residual, void* stream) {
  with_group_type(op.type, op.channels, {op.x, op.residual, dy, dx, d_residual},
                  [&](auto s, auto width) {
                    typed_batch_norm_backward_apply<decltype(s), decltype(width)::value>(
                        op, dy, sums, count, dx, d_residual, stream);
                  });
}

}  // namespace shoal::ops::cuda_kernels
