#pragma once
// Depthwise convolutions. A work item is a block of channels of one image, processed row by row. A
// ring buffer keeps the last rows of the activated input, each vector of channels in its own plane.

#include "ops/fused/operand_loops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

constexpr int64_t kAcross = 7;  // neighboring outputs computed together, in registers

inline int64_t rounded_up(int64_t value, int64_t step) {
  return chunks(value, step) * step;
}

// Ring buffer for one block of channels. Holds the last `rows` rows that were loaded: of the
// activated input, of the activation's derivative (slopes), or of the output's gradient (dy). The
// columns left and right of the image are zero.
struct Ring {
  float* memory;
  int64_t rows, columns, left;  // column `left` is the image's column 0

  int64_t plane() const { return rows * columns * kLanes; }
  float* row(int64_t vector, int64_t y) const {
    return memory + vector * plane() + y % rows * columns * kLanes;
  }
  Tile<float> tile(int64_t y) const { return {row(0, y) + left * kLanes, kLanes, plane()}; }
  int64_t size(int64_t vectors) const { return vectors * plane(); }
  void clear(int64_t vectors) const {
    __builtin_memset(memory, 0, static_cast<size_t>(size(vectors)) * sizeof(float));
  }
};

// Returns the ring buffer for the input. It begins at `memory` and is not cleared.
inline Ring input_ring(const Depthwise& op, float* memory) {
  const int64_t last = (rounded_up(op.out_width, kAcross) - 1) * op.stride + op.kernel;
  return {memory, op.kernel, most(op.left + op.width, last), op.left};
}

// A work item: `vectors` vectors of channels of one image. The first vector begins at `channel`.
struct Item {
  int64_t image, channel, vectors, stride;
};

inline Item item_of(const Depthwise& op, int64_t item) {
  const int64_t stride = padded(op.channels), blocks = chunks(stride, op.block);
  const int64_t channel = item % blocks * op.block;
  return {item / blocks, channel, least(op.block, stride - channel) / kLanes, stride};
}

inline Part row_part(const Item& item, int64_t height, int64_t width, int64_t y) {
  return {item.image, (item.image * height + y) * width, width, item.channel, item.vectors,
          item.stride};
}

// Calls emit(o, output) for each o < count, where output is
// Σ over kernel positions (i, j) of weights[i * kernel + j] * rows[i][o * stride + j].
template <int kernel, int stride, class Emit>
inline void convolve_row(const float* const* rows, const Vec* weights, int64_t count,
                         const Emit& emit) {
  for (int64_t first = 0; first < count; first += kAcross) {
    Vec sums[kAcross] = {};
#pragma GCC unroll 5
    for (int i = 0; i < kernel; ++i) {
      const float* row = rows[i] + first * stride * kLanes;
#pragma GCC unroll 20
      for (int c = 0; c < (kAcross - 1) * stride + kernel; ++c) {
        const Vec x = load(row + c * kLanes);
#pragma GCC unroll 5
        for (int j = 0; j < kernel; ++j) {
          if (c >= j && (c - j) % stride == 0 && (c - j) / stride < kAcross)
            sums[(c - j) / stride] =
                multiply_add(x, weights[i * kernel + j], sums[(c - j) / stride]);
        }
      }
    }
    if (count - first >= kAcross) {
#pragma GCC unroll 7
      for (int o = 0; o < kAcross; ++o) emit(first + o, sums[o]);
    } else {
#pragma GCC unroll 7
      for (int o = 0; o < kAcross; ++o)
        if (first + o < count) emit(first + o, sums[o]);
    }
  }
}

// Loads the weights of the vector of channels at `channel`. `flipped`: in reverse order.
inline void load_weights(const Depthwise& op, int64_t channel, bool flipped, Vec* weights) {
  const int64_t taps = op.kernel * op.kernel, stride = padded(op.channels);
  for (int64_t t = 0; t < taps; ++t)
    weights[t] = load(op.weights + (flipped ? taps - 1 - t : t) * stride + channel);
}

// Computes output row y for all vectors of an item, and adds to the sums for the next batch norm.
// `zeros`: a row of zeros.
template <int kernel, int stride>
void output_row(const Depthwise& op, const Item& item, const Ring& ring, const float* zeros,
                int64_t y, const FloatSums& sums) {
  const Part part = row_part(item, op.out_height, op.out_width, y);
  for (int64_t v = 0; v < item.vectors; ++v) {
    const float* rows[kernel];
    for (int i = 0; i < kernel; ++i) {
      const int64_t from = y * stride - op.top + i;
      rows[i] = from < 0 || from >= op.height ? zeros : ring.row(v, from);
    }
    const int64_t channel = item.channel + v * kLanes;
    Vec weights[kernel * kernel];
    load_weights(op, channel, false, weights);
    Cell* to = cells(op.y) + part.row * part.stride + channel;
    Vec first = splat(0), second = splat(0);
    const bool streams = op.streams;
    convolve_row<kernel, stride>(rows, weights, op.out_width, [&](int64_t o, Vec value) {
      streams ? stream(to + o * part.stride, value) : store(to + o * part.stride, value);
      first += value;
      second = multiply_add(value, value, second);
    });
    add_to(sums.first + channel, first);
    add_to(sums.second + channel, second);
  }
}

template <int kernel, int stride>
void depthwise_items(const Depthwise& op, int64_t begin, int64_t end, const Scratch& scratch) {
  const int64_t channels = padded(op.channels);
  const FloatSums sums{scratch.memory, scratch.memory + channels};
  sums.clear(channels);
  const Ring ring = input_ring(op, scratch.memory + 2 * channels);
  const int64_t vectors = op.block / kLanes;
  ring.clear(vectors);
  float* const zeros = ring.memory + ring.size(vectors);
  for (int64_t c = 0; c < ring.columns; ++c) store(zeros + c * kLanes, splat(0));
  for (int64_t i = begin; i < end; ++i) {
    const Item item = item_of(op, i);
    int64_t loaded = 0;
    for (int64_t y = 0; y < op.out_height; ++y) {
      for (; loaded < least(op.height, y * stride - op.top + kernel); ++loaded)
        load_operand<float>(op.input, row_part(item, op.height, op.width, loaded),
                            {.values = ring.tile(loaded)});
      output_row<kernel, stride>(op, item, ring, zeros, y, sums);
    }
    sums.flush(channels, scratch.sums);
  }
}

// Calls run.operator()<kernel, stride>() with the kernel and stride of `op`, then finish_streams().
template <class Run>
void for_kernel(const Depthwise& op, Run run) {
  if (op.kernel == 3)
    op.stride == 1 ? run.template operator()<3, 1>() : run.template operator()<3, 2>();
  else
    op.stride == 1 ? run.template operator()<5, 1>() : run.template operator()<5, 2>();
  finish_streams();
}

void depthwise(const Depthwise& op, int64_t begin, int64_t end, const Scratch& scratch) {
  for_kernel(op, [&]<int kernel, int stride>() {
    depthwise_items<kernel, stride>(op, begin, end, scratch);
  });
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
