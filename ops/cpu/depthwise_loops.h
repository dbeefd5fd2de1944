// Weight gradient of a depthwise convolution for one image, written with GCC's vector types.
// Compiled once per instruction set, in a namespace of its own (SHOAL_LOOPS) and with internal
// linkage, so the linker keeps the copies apart.

#include <cstdint>

#include "ops/cpu/depthwise.h"
#include "ops/cpu/eight_floats.h"

namespace shoal::ops::cpu_kernels::SHOAL_LOOPS {
namespace {

// Adds the products of one row of dy and one row of x to the gradient of one kernel row. For each
// kernel column t and each of vectors * 8 channels c:
//     sums[t * channels + c] += Σ over w of dy[w, c] * x[w * stride + t - padding, c].
// The sums stay in registers along the row.
template <int kernel, int vectors>
inline void row(const Depthwise& op, const float* x, const float* dy, float* sums) {
  const int64_t width = op.width, channels = op.channels, step = op.stride * channels;
  const int64_t out = out_size(width, op);
  Vec total[kernel][vectors];
  for (int t = 0; t < kernel; ++t) {
    for (int v = 0; v < vectors; ++v) total[t][v] = load(sums + t * channels + v * kLanes);
  }
  // For outputs [first, last), all kernel columns are inside the input row.
  const int64_t first = (op.padding + op.stride - 1) / op.stride;
  const int64_t fits = width - kernel + op.padding;
  const int64_t last = fits < 0 ? first : (fits / op.stride + 1 < out ? fits / op.stride + 1 : out);
  const auto edge = [&](int64_t w) {
    for (int t = 0; t < kernel; ++t) {
      const int64_t from = w * op.stride + t - op.padding;
      if (from < 0 || from >= width) continue;
      for (int v = 0; v < vectors; ++v) {
        total[t][v] = multiply_add(load(dy + w * channels + v * kLanes),
                                   load(x + from * channels + v * kLanes), total[t][v]);
      }
    }
  };
  for (int64_t w = 0; w < first && w < out; ++w) edge(w);
  const float* from = x + (first * op.stride - op.padding) * channels;
  for (int64_t w = first; w < last; ++w, from += step) {
    Vec d[vectors];
    for (int v = 0; v < vectors; ++v) d[v] = load(dy + w * channels + v * kLanes);
    for (int t = 0; t < kernel; ++t) {
      for (int v = 0; v < vectors; ++v)
        total[t][v] = multiply_add(d[v], load(from + t * channels + v * kLanes), total[t][v]);
    }
  }
  for (int64_t w = first > last ? first : last; w < out; ++w) edge(w);
  for (int t = 0; t < kernel; ++t) {
    for (int v = 0; v < vectors; ++v) store(sums + t * channels + v * kLanes, total[t][v]);
  }
}

template <int kernel>
void image(const Depthwise& op, const float* x, const float* dy, float* sums) {
  const int64_t channels = op.channels, x_row = op.width * channels;
  const int64_t out_height = out_size(op.height, op), dy_row = out_size(op.width, op) * channels;
  for (int64_t h = 0; h < out_height; ++h) {
    for (int64_t c = 0; c < channels;) {
      const bool two = c + 2 * kLanes <= channels;
      for (int t = 0; t < kernel; ++t) {
        const int64_t from = h * op.stride + t - op.padding;
        if (from < 0 || from >= op.height) continue;
        const float* x_at = x + from * x_row + c;
        const float* dy_at = dy + h * dy_row + c;
        float* sums_at = sums + t * kernel * channels + c;
        two ? row<kernel, 2>(op, x_at, dy_at, sums_at) : row<kernel, 1>(op, x_at, dy_at, sums_at);
      }
      c += two ? 2 * kLanes : kLanes;
    }
  }
}

}  // namespace

extern const DepthwiseLoops kDepthwiseLoops;
const DepthwiseLoops kDepthwiseLoops = {image<3>, image<5>};

}  // namespace shoal::ops::cpu_kernels::SHOAL_LOOPS
