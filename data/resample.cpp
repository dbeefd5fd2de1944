// Weights are 16-bit integers with as many fractional bits as the largest of the direction allows
// (14 when enlarging, more when shrinking), and each window's weights sum exactly to one, so flat
// areas stay as they are. Pillow has 22 bits; the sums differ by less than 0.05 levels before
// rounding.
#include "data/resample.h"

#include <algorithm>
#include <cmath>

#include "data/resample_kernels.h"

namespace shoal::data {
namespace {

double triangle(double x) {
  x = std::abs(x);
  return x < 1 ? 1 - x : 0;
}

double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

struct Window {
  int64_t begin, end;
  double center;
};

const ResampleKernels& best_kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return kAvx2Kernels;
#endif
  return kPortableKernels;
}

// Rounds weights to integers of the given sum; the rest of the rounding goes to the largest.
void quantise(const double* exact, int64_t count, int32_t shift, int16_t* weights) {
  const double one = std::ldexp(1.0, shift);
  int32_t rest = 1 << shift;
  int64_t largest = 0;
  for (int64_t k = 0; k < count; ++k) {
    weights[k] = static_cast<int16_t>(std::lround(exact[k] * one));
    rest -= weights[k];
    if (exact[k] > exact[largest]) largest = k;
  }
  weights[largest] = static_cast<int16_t>(weights[largest] + rest);
}

}  // namespace

void Axis::build(const AxisRequest& r, Interpolation interpolation, int32_t multiple) {
  const bool bilinear = interpolation == Interpolation::bilinear;
  const double scale = static_cast<double>(r.in) / static_cast<double>(r.out);
  const double stretch = std::max(scale, 1.0);
  const double support = (bilinear ? 1.0 : 2.0) * stretch, inverse = 1 / stretch;
  const auto window = [&](int64_t i) {
    const int64_t wanted = r.first + (r.mirror ? r.count - 1 - i : i);
    const double center = (static_cast<double>(wanted) + 0.5) * scale;
    const auto begin = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const auto end = std::min<int64_t>(r.in, static_cast<int64_t>(center + support + 0.5));
    return Window{begin, end, center};
  };

  int64_t widest = 1, low = r.in, high = 0;
  for (int64_t i = 0; i < r.count; ++i) {
    const Window w = window(i);
    widest = std::max(widest, w.end - w.begin);
    low = std::min(low, w.begin);
    high = std::max(high, w.end);
  }
  source_first = low;
  source_count = high - low;
  taps = static_cast<int32_t>((widest + multiple - 1) / multiple * multiple);

  starts.resize(static_cast<size_t>(r.count));
  exact_.assign(static_cast<size_t>(r.count * taps), 0.0);
  weights.assign(static_cast<size_t>(r.count * taps), 0);
  double largest = 0;
  for (int64_t i = 0; i < r.count; ++i) {
    const Window w = window(i);
    starts[i] = static_cast<int32_t>(w.begin - low);
    double* exact = exact_.data() + i * taps;
    double sum = 0;
    for (int64_t k = 0; k < w.end - w.begin; ++k) {
      const double at = (static_cast<double>(w.begin + k) - w.center + 0.5) * inverse;
      sum += exact[k] = bilinear ? triangle(at) : cubic(at);
    }
    for (int64_t k = 0; k < w.end - w.begin; ++k) {
      exact[k] /= sum;
      largest = std::max(largest, std::abs(exact[k]));
    }
  }
  // Room below 32767 for what quantise() adds to the largest; 22 bits keep the sums inside 32.
  shift = 14;
  while (shift < 22 && largest * std::ldexp(1.0, shift + 1) < 32000) ++shift;
  for (int64_t i = 0; i < r.count; ++i)
    quantise(exact_.data() + i * taps, taps, shift, weights.data() + i * taps);
}

Resizer::Resizer(bool portable) : kernels_(portable ? kPortableKernels : best_kernels()) {}

void Resizer::begin(const AxisRequest& x, const AxisRequest& y, Interpolation interpolation) {
  x_.build(x, interpolation, 4);
  y_.build(y, interpolation, 2);
  middle_stride_ = (x.count * 3 + 1 + 31) / 32 * 32;
  // Padding taps of the vertical pass look at up to `taps` rows beyond the last.
  const auto need = static_cast<size_t>((y_.source_count + y_.taps) * middle_stride_);
  if (middle_.size() < need) middle_.resize(need);
  rows_ = 0;
}

Box Resizer::needed() const {
  return {x_.source_first, y_.source_first, x_.source_count, y_.source_count};
}

int64_t Resizer::padding() const {
  return 3 * static_cast<int64_t>(x_.taps) + 16;
}

void Resizer::push(const RowBlock& rows) {
  HorizontalPass pass{};
  pass.starts = x_.starts.data();
  pass.weights = x_.weights.data();
  pass.count = static_cast<int64_t>(x_.starts.size());
  pass.taps = x_.taps;
  pass.shift = x_.shift;
  for (int64_t row = 0; row < rows.count; row += 4) {
    for (int64_t i = 0; i < 4; ++i) {  // rows beyond the end repeat the last
      const int64_t at = std::min(row + i, rows.count - 1);
      pass.in[i] = rows.data + at * rows.stride;
      pass.out[i] = middle_.data() + (rows_ + at) * middle_stride_;
    }
    kernels_.horizontal(pass);
  }
  rows_ += rows.count;
}

void Resizer::finish(uint8_t* out, int64_t stride) {
  VerticalPass pass{};
  pass.stride = middle_stride_;
  pass.bytes = static_cast<int64_t>(x_.starts.size()) * 3;
  pass.taps = y_.taps;
  pass.shift = y_.shift;
  for (size_t y = 0; y < y_.starts.size(); ++y) {
    pass.in = middle_.data() + y_.starts[y] * middle_stride_;
    pass.weights = y_.weights.data() + y * static_cast<size_t>(y_.taps);
    pass.out = out + static_cast<int64_t>(y) * stride;
    kernels_.vertical(pass);
  }
}

}  // namespace shoal::data
