#pragma once
// Backward of depthwise convolutions: computes the gradients of the weights and of the input in one
// pass over the rows.

#include "ops/fused/depthwise_loops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

constexpr int64_t kPairs = kLanes == 16 ? 7 : 3;  // column pairs computed together (stride 2)

// Ring buffers for the activated input, the slopes of its activation, and the output's gradient.
struct BackwardRings {
  Ring input, slopes, dy;
  const float* zeros;  // a row of zeros
};

inline BackwardRings backward_rings(const Depthwise& op, float* memory) {
  const int64_t vectors = op.block / kLanes, k = op.kernel;
  BackwardRings r{};
  r.input = input_ring(op, memory);
  memory += r.input.size(vectors);
  r.slopes = {memory, k, op.width, 0};
  memory += r.slopes.size(vectors);
  const int64_t before = op.stride == 1 ? k - 1 - op.left : k / 2;
  const int64_t used =
      op.stride == 1 ? rounded_up(op.width, kAcross) + k : op.out_width + k + 2 * kPairs + kAcross;
  r.dy = {memory, k, most(used, before + rounded_up(op.out_width, kAcross)), before};
  memory += r.dy.size(vectors);
  r.zeros = memory;
  r.input.clear(vectors);
  r.dy.clear(vectors);
  const int64_t longest = most(r.input.columns, r.dy.columns);
  for (int64_t c = 0; c < longest; ++c) store(memory + c * kLanes, splat(0));
  return r;
}

// Adds the products of one row of dy and the input rows `rows` to the weight gradient. `count`:
// outputs per row. `tap_stride`: floats from one kernel position to the next in d_weights.
template <int kernel, int stride>
inline void add_weight_products(const float* const* rows, const float* dy, int64_t count,
                                float* d_weights, int64_t tap_stride) {
  constexpr int kTogether = kernel == 3 ? 3 : 1;  // kernel rows computed together
  for (int first = 0; first < kernel; first += kTogether) {
    Vec sums[kTogether][kernel];
    for (int t = 0; t < kTogether; ++t)
      for (int j = 0; j < kernel; ++j)
        sums[t][j] = load(d_weights + ((first + t) * kernel + j) * tap_stride);
    for (int64_t o = 0; o < count; o += kAcross) {
      Vec d[kAcross];
#pragma GCC unroll 7
      for (int i = 0; i < kAcross; ++i) d[i] = load(dy + (o + i) * kLanes);
#pragma GCC unroll 3
      for (int t = 0; t < kTogether; ++t) {
        const float* row = rows[first + t] + o * stride * kLanes;
#pragma GCC unroll 20
        for (int c = 0; c < (kAcross - 1) * stride + kernel; ++c) {
          const Vec x = load(row + c * kLanes);
#pragma GCC unroll 5
          for (int j = 0; j < kernel; ++j) {
            if (c >= j && (c - j) % stride == 0 && (c - j) / stride < kAcross)
              sums[t][j] = multiply_add(x, d[(c - j) / stride], sums[t][j]);
          }
        }
      }
    }
    for (int t = 0; t < kTogether; ++t)
      for (int j = 0; j < kernel; ++j)
        store(d_weights + ((first + t) * kernel + j) * tap_stride, sums[t][j]);
  }
}

// With stride 2: computes one row of the input's gradient from `count` rows of dy. rows[t] is
// multiplied by kernel row kernel_rows[t]. Calls emit(column, gradient) for columns [first, end),
// which are numbered from the left edge of the padding. `first` must be even.
template <int kernel, class Emit>
inline void spread_row(const float* const* rows, const int* kernel_rows, int count,
                       const Vec* weights, int64_t first, int64_t end, const Emit& emit) {
  constexpr int half = kernel / 2;
  for (int64_t u = first; u < end; u += 2 * kPairs) {
    Vec sums[2 * kPairs] = {};
    for (int t = 0; t < count; ++t) {
      const float* row = rows[t] + u / 2 * kLanes;
      Vec w[kernel];
#pragma GCC unroll 5
      for (int j = 0; j < kernel; ++j) w[j] = weights[kernel_rows[t] * kernel + j];
#pragma GCC unroll 10
      for (int c = 0; c < kPairs + half; ++c) {
        const Vec x = load(row + c * kLanes);
#pragma GCC unroll 5
        for (int j = 0; j < kernel; ++j) {
          const int to = 2 * (c - half) + j;
          if (to >= 0 && to < 2 * kPairs) sums[to] = multiply_add(x, w[j], sums[to]);
        }
      }
    }
#pragma GCC unroll 14
    for (int i = 0; i < 2 * kPairs; ++i)
      if (u + i < end) emit(u + i, sums[i]);
  }
}

// Computes row y of the input's gradient, for vector v of the item's channels. Calls
// emit(x, gradient) for each column x.
template <int kernel, int stride, class Emit>
inline void input_gradient(const Depthwise& op, const Item& item, const BackwardRings& r, int64_t y,
                           int64_t v, const Emit& emit) {
  Vec weights[kernel * kernel];
  load_weights(op, item.channel + v * kLanes, stride == 1, weights);
  const float* rows[kernel];
  if constexpr (stride == 1) {
    for (int i = 0; i < kernel; ++i) {
      const int64_t from = y + op.top - (kernel - 1 - i);
      rows[i] = from < 0 || from >= op.out_height ? r.zeros : r.dy.row(v, from);
    }
    convolve_row<kernel, 1>(rows, weights, op.width, emit);
  } else {
    int kernel_rows[kernel], count = 0;
    for (int i = static_cast<int>((y + op.top) % 2); i < kernel; i += 2) {
      const int64_t from = (y + op.top - i) / 2;
      if (y + op.top < i || from >= op.out_height) continue;
      rows[count] = r.dy.row(v, from);
      kernel_rows[count++] = i;
    }
    spread_row<kernel>(rows, kernel_rows, count, weights, op.left / 2 * 2, op.left + op.width,
                       [&](int64_t u, Vec value) {
                         if (u >= op.left) emit(u - op.left, value);
                       });
  }
}

template <int kernel, int stride>
void input_gradient_row(const Depthwise& op, const Item& item, const BackwardRings& r, int64_t y,
                        const FloatSums& sums) {
  const Part part = row_part(item, op.height, op.width, y);
  for (int64_t v = 0; v < item.vectors; ++v) {
    const int64_t channel = item.channel + v * kLanes, at = part.row * part.stride + channel;
    Cell* to = cells(op.dx.u) + at;
    if (!op.input.norm) {
      input_gradient<kernel, stride>(op, item, r, y, v, [&](int64_t i, Vec value) {
        Cell* p = to + i * part.stride;
        store(p, op.dx.add ? load(p) + value : value);
      });
      continue;
    }
    const Cell* x = cells(op.input.x) + at;
    const float* slopes = r.slopes.row(v, y);
    const Vec mean = load(op.input.norm->mean + channel);
    const bool streams = op.streams;
    Vec first = splat(0), second = splat(0);
    input_gradient<kernel, stride>(op, item, r, y, v, [&](int64_t i, Vec value) {
      value = value * load(slopes + i * kLanes);
      Cell* p = to + i * part.stride;
      streams ? stream(p, value) : store(p, value);
      first += value;
      second = multiply_add(value, load(x + i * part.stride) - mean, second);
    });
    add_to(sums.first + channel, first);
    add_to(sums.second + channel, second);
  }
}

template <int kernel, int stride>
void weight_gradient_row(const Depthwise& op, const Item& item, const BackwardRings& r, int64_t y,
                         float* d_weights) {
  for (int64_t v = 0; v < item.vectors; ++v) {
    const float* rows[kernel];
    for (int i = 0; i < kernel; ++i) {
      const int64_t from = y * stride - op.top + i;
      rows[i] = from < 0 || from >= op.height ? r.zeros : r.input.row(v, from);
    }
    add_weight_products<kernel, stride>(rows, r.dy.row(v, y) + r.dy.left * kLanes, op.out_width,
                                        d_weights + item.channel + v * kLanes, item.stride);
  }
}

template <int kernel, int stride>
void backward_items(const Depthwise& op, int64_t begin, int64_t end, const Scratch& scratch) {
  const int64_t channels = padded(op.channels);
  const FloatSums sums{scratch.memory, scratch.memory + channels};
  sums.clear(channels);
  const BackwardRings r = backward_rings(op, scratch.memory + 2 * channels);
  const bool wants_slopes = op.dx.u != nullptr && op.input.norm != nullptr;
  for (int64_t i = begin; i < end; ++i) {
    const Item item = item_of(op, i);
    int64_t loaded = 0, done = op.dx.u ? 0 : op.height;
    for (int64_t y = 0; y < op.out_height; ++y) {
      for (; loaded < least(op.height, y * stride - op.top + kernel); ++loaded)
        load_operand<float>(op.input, row_part(item, op.height, op.width, loaded),
                            {.values = r.input.tile(loaded),
                             .slopes = wants_slopes ? r.slopes.tile(loaded) : Tile<float>{}});
      load_gradient(op.dy, row_part(item, op.out_height, op.out_width, y), r.dy.tile(y));
      if (scratch.d_weights) weight_gradient_row<kernel, stride>(op, item, r, y, scratch.d_weights);
      for (; done < least(op.height, stride * (y + 1) - op.top); ++done)
        input_gradient_row<kernel, stride>(op, item, r, done, sums);
    }
    for (; done < op.height; ++done) input_gradient_row<kernel, stride>(op, item, r, done, sums);
    if (wants_slopes) sums.flush(channels, scratch.sums);
  }
}

void depthwise_backward(const Depthwise& op, int64_t begin, int64_t end, const Scratch& scratch) {
  for_kernel(op, [&]<int kernel, int stride>() {
    backward_items<kernel, stride>(op, begin, end, scratch);
  });
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
