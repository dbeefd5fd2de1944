#include <algorithm>
#include <cmath>

#include "ops/norm_channel.h"
#include "ops/reference/kernels.h"
#include "ops/reference/types.h"

namespace shoal::ops::reference_kernels {
namespace {

template <class V>
V activate(Activation activation, V z) {
  switch (activation) {
    case Activation::none:
      return z;
    case Activation::relu:
      return z <= 0 ? V(0) : z;  // NaN stays NaN
    case Activation::relu6:
      return z <= 0 ? V(0) : z >= 6 ? V(6) : z;
    case Activation::silu:
      return z / (1 + std::exp(-z));
    case Activation::hard_swish:
      return z <= -3 ? V(0) : z >= 3 ? z : z * (z + 3) / 6;
  }
  return z;
}

// Returns the derivative of the activation at z.
template <class V>
V slope(Activation activation, V z) {
  switch (activation) {
    case Activation::none:
      return 1;
    case Activation::relu:
      return z <= 0 ? V(0) : V(1);
    case Activation::relu6:
      return z <= 0 || z >= 6 ? V(0) : V(1);
    case Activation::silu: {
      const V sigmoid = 1 / (1 + std::exp(-z));
      return sigmoid * (1 + z * (1 - sigmoid));
    }
    case Activation::hard_swish:
      return z <= -3 ? V(0) : z >= 3 ? V(1) : (2 * z + 3) / 6;
  }
  return 1;
}

// The arguments of one batch norm with typed pointers.
template <class S>
struct View {
  using E = Element<S>;
  using V = typename E::Value;
  const BatchNorm& op;
  const S* x = static_cast<const S*>(op.x);
  const S* residual = static_cast<const S*>(op.residual);
  const V* mean = static_cast<const V*>(op.mean);
  const V* inv_std = static_cast<const V*>(op.inv_std);
  const V* weight = static_cast<const V*>(op.weight);
  const V* bias = static_cast<const V*>(op.bias);

  V normalized(int64_t i, int64_t c) const { return (E::load(x[i]) - mean[c]) * inv_std[c]; }
  // Returns the activation's input.
  V input(int64_t i, int64_t c) const {
    const V z = normalized(i, c) * weight[c] + bias[c];
    return residual ? z + E::load(residual[i]) : z;
  }
  V d_input(int64_t i, int64_t c, const S* dy) const {
    return E::load(dy[i]) * slope(op.activation, input(i, c));
  }
};

}  // namespace

void batch_norm_sums(Type type, const void* x, int64_t rows, int64_t channels, double* sums,
                     const BatchNormFinish* finish, void* stream) {
  std::fill_n(sums, 2 * channels, 0.0);
  sums[2 * channels] = static_cast<double>(rows);
  dispatch(type, [&]<class S>(S) {
    const S* p = static_cast<const S*>(x);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < channels; ++c) {
        const double v = Element<S>::load(p[r * channels + c]);
        sums[c] += v;
        sums[channels + c] += v * v;
      }
    }
  });
  if (finish) batch_norm_finish(*finish, stream);
}

void batch_norm_finish(const BatchNormFinish& op, void*) {
  dispatch(op.type, [&]<class S>(S) {
    for (int64_t c = 0; c < op.channels; ++c)
      finish_channel<typename Element<S>::Value>(op, c, op.sums[c], op.sums[op.channels + c],
                                                 op.sums[2 * op.channels]);
  });
}

void batch_norm_apply(const BatchNorm& op, void* y, void*) {
  dispatch(op.type, [&]<class S>(S) {
    const View<S> view{op};
    for (int64_t r = 0, i = 0; r < op.rows; ++r) {
      for (int64_t c = 0; c < op.channels; ++c, ++i) {
        static_cast<S*>(y)[i] = Element<S>::store(activate(op.activation, view.input(i, c)));
      }
    }
  });
}

void batch_norm_backward_sums(const BatchNorm& op, const void* dy, double* sums,
                              const NormGradients& gradients, void*) {
  std::fill_n(sums, 2 * op.channels, 0.0);
  dispatch(op.type, [&]<class S>(S) {
    const View<S> view{op};
    for (int64_t r = 0, i = 0; r < op.rows; ++r) {
      for (int64_t c = 0; c < op.channels; ++c, ++i) {
        const double dz = view.d_input(i, c, static_cast<const S*>(dy));
        sums[c] += dz;
        sums[op.channels + c] += dz * view.normalized(i, c);
      }
    }
    using V = typename Element<S>::Value;
    for (int64_t c = 0; c < op.channels; ++c)
      store_gradients<V>(gradients, c, sums[c], sums[op.channels + c]);
  });
}

void batch_norm_backward_apply(const BatchNorm& op, const void* dy, const double* sums,
                               const double* count, void* dx, void* d_residual, void*) {
  dispatch(op.type, [&]<class S>(S) {
    using V = typename Element<S>::Value;
    const View<S> view{op};
    for (int64_t r = 0, i = 0; r < op.rows; ++r) {
      for (int64_t c = 0; c < op.channels; ++c, ++i) {
        const V dz = view.d_input(i, c, static_cast<const S*>(dy));
        V g = dz;
        if (count) {
          g -= static_cast<V>(sums[c] / *count);
          g -= view.normalized(i, c) * static_cast<V>(sums[op.channels + c] / *count);
        }
        static_cast<S*>(dx)[i] = Element<S>::store(view.weight[c] * view.inv_std[c] * g);
        if (d_residual) static_cast<S*>(d_residual)[i] = Element<S>::store(dz);
      }
    }
  });
}

}  // namespace shoal::ops::reference_kernels
