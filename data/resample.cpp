// Weights are computed in double and rounded to 22 fractional bits in the same steps as Pillow's
// precompute_coeffs and normalize_coeffs_8bpc, and sums of integers are exact in any order: that is
// why the results are equal and not only close.
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

// Rounds to 22 bits, halves away from zero, and splits (see resample_kernels.h). `out`: high half;
// the low half is `group` places further.
void store_weight(double exact, int16_t* out) {
  const double scaled = exact * (1 << kWeightBits);
  const auto weight = static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  out[0] = static_cast<int16_t>(weight >> kLowBits);
  out[kGroup] = static_cast<int16_t>(weight & ((1 << kLowBits) - 1));
}

}  // namespace

void Axis::build(const AxisRequest& r, Interpolation interpolation) {
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
  taps = static_cast<int32_t>((widest + kGroup - 1) / kGroup * kGroup);

  starts.resize(static_cast<size_t>(r.count));
  weights.assign(static_cast<size_t>(r.count * 2 * taps), 0);
  exact_.resize(static_cast<size_t>(widest));
  for (int64_t i = 0; i < r.count; ++i) {
    const Window w = window(i);
    starts[i] = static_cast<int32_t>(w.begin - low);
    double sum = 0;
    for (int64_t k = 0; k < w.end - w.begin; ++k) {
      const double at = (static_cast<double>(k + w.begin) - w.center + 0.5) * inverse;
      sum += exact_[k] = bilinear ? triangle(at) : cubic(at);
    }
    int16_t* const out = weights.data() + i * 2 * taps;
    for (int64_t k = 0; k < w.end - w.begin; ++k)
      store_weight(exact_[k] / sum, out + k / kGroup * 2 * kGroup + k % kGroup);
  }
}

Resizer::Resizer(bool portable) : kernels_(portable ? kPortableKernels : best_kernels()) {}

void Resizer::begin(const AxisRequest& x, const AxisRequest& y, Interpolation interpolation) {
  x_.build(x, interpolation);
  y_.build(y, interpolation);
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
  for (size_t y = 0; y < y_.starts.size(); ++y) {
    pass.in = middle_.data() + y_.starts[y] * middle_stride_;
    pass.weights = y_.weights.data() + y * 2 * static_cast<size_t>(y_.taps);
    pass.out = out + static_cast<int64_t>(y) * stride;
    kernels_.vertical(pass);
  }
}

}  // namespace shoal::data
