// What the fused step computes between its kernels: the per-channel values of batch norms (mean,
// scale, shift and others), total weight gradients, packed weights, the gradients of
// squeeze-excite, and linear layers.

#include <omp.h>

#include <algorithm>
#include <cmath>

#include "ops/fused/fused.h"

namespace shoal::ops::fused {
namespace {

struct TwoSums {
  double first, second;
};

TwoSums total(const Workspace& workspace, int64_t channel, int64_t stride) {
  TwoSums sums{0, 0};
  for (int t = 0; t < workspace.used(); ++t) {
    const double* own = workspace.of(t).sums;
    sums.first += own[channel];
    sums.second += own[stride + channel];
  }
  return sums;
}

// Copies a rows×columns matrix and pads both dimensions with zeros. `transposed`: `values` is
// columns×rows.
void copy_padded(const float* values, bool transposed, int64_t rows, int64_t columns, float* to) {
  const int64_t stride = padded(columns);
  for (int64_t i = 0; i < padded(rows); ++i) {
    for (int64_t j = 0; j < stride; ++j) {
      const bool valid = i < rows && j < columns;
      to[i * stride + j] = valid ? values[transposed ? j * rows + i : i * columns + j] : 0;
    }
  }
}

// Sets gradient[i] = Σ over images of values[image * stride + i], for i < count.
void sum_rows(const float* values, int64_t images, int64_t stride, int64_t count, float* gradient) {
  std::fill_n(gradient, count, 0.0f);
  for (int64_t n = 0; n < images; ++n)
    for (int64_t i = 0; i < count; ++i) gradient[i] += values[n * stride + i];
}

}  // namespace

void finish_norm(const NormState& state, const Norm& norm, const Workspace& workspace) {
  const int64_t stride = padded(state.channels);
  for (int64_t c = 0; c < stride; ++c) {
    if (c >= state.channels) {
      for (float* v :
           {norm.mean, norm.inv_std, norm.scale, norm.shift, norm.slope, norm.pull, norm.offset})
        v[c] = 0;
      continue;
    }
    double mean = 0, variance = 0;
    if (state.fixed) {
      mean = state.running_mean[c];
      variance = state.running_var[c];
    } else {
      const TwoSums sums = total(workspace, c, stride);
      mean = sums.first / state.count;
      const double squares = sums.second / state.count - mean * mean;
      variance = squares < 0 ? 0 : squares;  // NaN stays NaN
      const double unbiased =
          state.count > 1 ? variance * state.count / (state.count - 1) : variance;
      float *of_mean = state.pending + c, *of_variance = of_mean + state.channels;
      *of_mean = static_cast<float>((1 - state.momentum) * *of_mean + state.momentum * mean);
      *of_variance =
          static_cast<float>((1 - state.momentum) * *of_variance + state.momentum * unbiased);
    }
    const double inv_std = 1 / std::sqrt(variance + state.eps), scale = state.weight[c] * inv_std;
    norm.mean[c] = static_cast<float>(mean);
    norm.inv_std[c] = static_cast<float>(inv_std);
    norm.scale[c] = static_cast<float>(scale);
    norm.shift[c] = static_cast<float>(state.bias[c] - mean * scale);
  }
}

void finish_norm_backward(const NormState& state, const Norm& norm, float* d_weight, float* d_bias,
                          const Workspace& workspace) {
  const int64_t stride = padded(state.channels);
  for (int64_t c = 0; c < state.channels; ++c) {
    const TwoSums sums = total(workspace, c, stride);
    const double inv_std = norm.inv_std[c], slope = state.weight[c] * inv_std;
    if (d_weight) d_weight[c] = static_cast<float>(sums.second * inv_std);
    if (d_bias) d_bias[c] = static_cast<float>(sums.first);
    const double pull = state.fixed ? 0 : -slope * inv_std * inv_std * sums.second / state.count;
    norm.slope[c] = static_cast<float>(slope);
    norm.pull[c] = static_cast<float>(pull);
    norm.offset[c] =
        state.fixed ? 0
                    : static_cast<float>(-slope * sums.first / state.count - pull * norm.mean[c]);
  }
}

void collect_gradient(bool transposed, int64_t out, int64_t in, float* gradient,
                      const Workspace& workspace) {
  const int64_t stride = padded(transposed ? out : in);
#pragma omp parallel for schedule(static) num_threads(workspace.threads())
  for (int64_t first = 0; first < out; first += kPadding) {
    const int64_t last = std::min(first + kPadding, out);
    for (int t = 0; t < workspace.used(); ++t) {
      const float* own = workspace.of(t).d_weights;
      if (!transposed) {
        for (int64_t o = first; o < last; ++o)
          for (int64_t i = 0; i < in; ++i)
            gradient[o * in + i] = own[o * stride + i] + (t > 0 ? gradient[o * in + i] : 0);
        continue;
      }
      for (int64_t i = 0; i < in; ++i)
        for (int64_t o = first; o < last; ++o)
          gradient[o * in + i] = own[i * stride + o] + (t > 0 ? gradient[o * in + i] : 0);
    }
  }
}

void collect_gradient(const Dense& op, float* gradient, const Workspace& workspace) {
  const int64_t taps = op.kernel * op.kernel, stride = padded(op.out), depth = padded(op.in);
#pragma omp parallel for schedule(static) num_threads(workspace.threads())
  for (int64_t first = 0; first < op.out; first += kPadding) {
    const int64_t last = std::min(first + kPadding, op.out);
    for (int t = 0; t < workspace.used(); ++t) {
      const float* own = workspace.of(t).d_weights;
      for (int64_t row = 0; row < taps * op.in; ++row) {
        const float* from = own + (row / op.in * depth + row % op.in) * stride;
        for (int64_t o = first; o < last; ++o) {
          float& to = gradient[o * taps * op.in + row];
          to = from[o] + (t > 0 ? to : 0);
        }
      }
    }
  }
}

int64_t packed_floats(const Dense& op) {
  return (op.winograd ? kWinogradMatrices : op.kernel * op.kernel) * padded(op.in) * padded(op.out);
}

Packed pack_dense(const Dense& op, const float* weights, bool backward, const Loops& loops,
                  float* packed) {
  const int64_t taps = op.kernel * op.kernel;
  const int64_t depth = backward ? op.out : op.in, width = backward ? op.in : op.out;
  const int64_t rows = chunks(depth, loops.together);
  const int64_t k_step = backward ? taps * op.in : 1, n_step = backward ? 1 : taps * op.in;
  const int64_t panels = loops.panels(width), size = rows * padded(width);
  float* const first = op.winograd ? packed + (kWinogradMatrices - taps) * size : packed;
#pragma omp parallel for schedule(static)
  for (int64_t t = 0; t < taps; ++t) {
    // Winograd computes the input gradient as a convolution of dy with the flipped kernel.
    const int64_t place = op.winograd && backward ? taps - 1 - t : t;
    loops.pack_pointwise(weights + t * op.in, k_step, n_step, depth, width, 0, panels,
                         first + place * size);
  }
  if (op.winograd) {
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < rows; ++k)
      loops.winograd_weights(packed, size, k * padded(width), (k + 1) * padded(width));
  }
  return {packed, rows, padded(width)};
}

Packed pack(const float* values, int64_t k_step, int64_t n_step, int64_t depth, int64_t width,
            float* packed) {
  const int64_t panels = loops().panels(width);
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < panels; ++p)
    loops().pack(values, k_step, n_step, depth, width, p, p + 1, packed);
  return {packed, depth, padded(width)};
}

Packed pack_pointwise(const Loops& loops, const float* values, int64_t k_step, int64_t n_step,
                      int64_t depth, int64_t width, float* packed) {
  const int64_t panels = loops.panels(width);
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < panels; ++p)
    loops.pack_pointwise(values, k_step, n_step, depth, width, p, p + 1, packed);
  return {packed, chunks(depth, loops.together), padded(width)};
}

int64_t squeeze_floats(int64_t channels, int64_t squeezed) {
  return 2 * padded(squeezed) * padded(channels) + padded(squeezed) + padded(channels);
}

void pack_squeeze(const SqueezeWeights& w, int64_t channels, float* memory, Squeeze& squeeze) {
  const int64_t matrix = padded(squeeze.squeezed) * padded(channels);
  copy_padded(w.weight1, false, squeeze.squeezed, channels, memory);
  copy_padded(w.weight2, true, squeeze.squeezed, channels, memory + matrix);
  float *const bias1 = memory + 2 * matrix, *const bias2 = bias1 + padded(squeeze.squeezed);
  std::fill_n(bias1, padded(squeeze.squeezed) + padded(channels), 0.0f);
  std::copy_n(w.bias1, squeeze.squeezed, bias1);
  std::copy_n(w.bias2, channels, bias2);
  squeeze.weight1 = memory;
  squeeze.weight2 = memory + matrix;
  squeeze.bias1 = bias1;
  squeeze.bias2 = bias2;
}

void squeeze_gradients(const Squeeze& s, int64_t images, int64_t channels, float* memory,
                       const SqueezeGradients& to) {
  const int64_t stride = padded(channels), narrow = padded(s.squeezed);
  float *const first = memory, *const second = memory + narrow * stride;
  std::fill_n(memory, 2 * narrow * stride, 0.0f);
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < stride; c += kPadding) {
    loops().multiply_transposed(images, s.d_hidden, narrow, s.squeezed, s.pooled + c, stride,
                                kPadding, first + c, stride);
    loops().multiply_transposed(images, s.squeezed_values, narrow, s.squeezed, s.d_excited + c,
                                stride, kPadding, second + c, stride);
  }
  for (int64_t j = 0; j < s.squeezed; ++j) {
    if (to.weight1) std::copy_n(first + j * stride, channels, to.weight1 + j * channels);
    for (int64_t c = 0; to.weight2 && c < channels; ++c)
      to.weight2[c * s.squeezed + j] = second[j * stride + c];
  }
  if (to.bias1) sum_rows(s.d_hidden, images, narrow, s.squeezed, to.bias1);
  if (to.bias2) sum_rows(s.d_excited, images, stride, channels, to.bias2);
}

int64_t linear_floats(const Linear& op) {
  return padded(op.in) * padded(op.out);
}

void run(const Linear& op, float* memory, float* y) {
  const int64_t in = padded(op.in), out = padded(op.out), panels = loops().panels(op.out);
  const Packed weights = pack(op.weight, 1, op.in, op.in, op.out, memory);
  for (int64_t n = 0; n < op.images; ++n) {
    std::copy_n(op.bias, op.out, y + n * out);
    std::fill_n(y + n * out + op.out, out - op.out, 0.0f);
  }
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < panels; ++p)
    loops().multiply_panels(op.features, in, op.images, weights, p, p + 1, y, out);
}

void run_backward(const Linear& op, const float* dy, float* memory, float* d_features,
                  float* d_weight, float* d_bias) {
  const int64_t in = padded(op.in), out = padded(op.out), panels = loops().panels(op.in);
  if (d_bias) sum_rows(dy, op.images, out, op.out, d_bias);
  if (d_weight) {
#pragma omp parallel for schedule(static)
    for (int64_t o = 0; o < out; o += kPadding) {
      std::fill_n(memory + o * in, kPadding * in, 0.0f);
      loops().multiply_transposed(op.images, dy + o, out, kPadding, op.features, in, in,
                                  memory + o * in, in);
      for (int64_t i = o; i < std::min(o + kPadding, op.out); ++i)
        std::copy_n(memory + i * in, op.in, d_weight + i * op.in);
    }
  }
  if (!d_features) return;
  const Packed weights = pack(op.weight, op.in, 1, op.out, op.in, memory);
  std::fill_n(d_features, op.images * in, 0.0f);
#pragma omp parallel for schedule(static)
  for (int64_t p = 0; p < panels; ++p)
    loops().multiply_panels(dy, out, op.images, weights, p, p + 1, d_features, in);
}

}  // namespace shoal::ops::fused
