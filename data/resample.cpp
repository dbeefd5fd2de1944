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

// Rounds to 22 bits, halves away from zero.
int32_t rounded(double exact) {
  const double scaled = exact * (1 << kWeightBits);
  return static_cast<int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

}  // namespace

extern const ResampleKernels kPortableResample, kAvx2Resample, kAvx512Resample;

const ResampleKernels& resample_kernels([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return kAvx512Resample;
  if (isa == Isa::avx2) return kAvx2Resample;
#endif
  return kPortableResample;
}

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
  taps = static_cast<int32_t>(widest);

  starts.resize(static_cast<size_t>(r.count));
  weights.assign(static_cast<size_t>(r.count * taps), 0);
  exact_.resize(static_cast<size_t>(widest));
  for (int64_t i = 0; i < r.count; ++i) {
    const Window w = window(i);
    starts[i] = static_cast<int32_t>(w.begin - low);
    double sum = 0;
    for (int64_t k = 0; k < w.end - w.begin; ++k) {
      const double at = (static_cast<double>(k + w.begin) - w.center + 0.5) * inverse;
      sum += exact_[k] = bilinear ? triangle(at) : cubic(at);
    }
    for (int64_t k = 0; k < w.end - w.begin; ++k) weights[i * taps + k] = rounded(exact_[k] / sum);
  }
}

Resizer::Resizer(Isa isa) : kernels_(resample_kernels(isa)) {}

void Resizer::pack(const Axis& axis, Packed& packed) const {
  const int32_t group = kernels_.group, groups = (axis.taps + group - 1) / group;
  packed.taps = groups * group;
  packed.weights.resize(axis.starts.size() * static_cast<size_t>(groups * kernels_.words));
  kernels_.pack(axis.weights.data(), static_cast<int64_t>(axis.starts.size()), axis.taps,
                packed.weights.data());
}

void Resizer::begin(const AxisRequest& x, const AxisRequest& y, Interpolation interpolation) {
  x_.build(x, interpolation);
  y_.build(y, interpolation);
  pack(x_, packed_x_);
  pack(y_, packed_y_);
  middle_stride_ = (x.count * 3 + 16 + 31) / 32 * 32;
  // Padding taps of the vertical pass look at up to `taps` rows beyond the last.
  const auto need = static_cast<size_t>((y_.source_count + packed_y_.taps) * middle_stride_);
  if (middle_.size() < need) middle_.resize(need);
  rows_ = 0;
}

Box Resizer::needed() const {
  return {x_.source_first, y_.source_first, x_.source_count, y_.source_count};
}

int64_t Resizer::padding() const {
  return 3 * static_cast<int64_t>(packed_x_.taps) + 16;
}

void Resizer::push(const RowBlock& rows) {
  HorizontalPass pass{};
  pass.starts = x_.starts.data();
  pass.weights = packed_x_.weights.data();
  pass.count = static_cast<int64_t>(x_.starts.size());
  pass.taps = packed_x_.taps;
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
  pass.taps = packed_y_.taps;
  const int32_t words = pass.taps / kernels_.group * kernels_.words;
  for (size_t y = 0; y < y_.starts.size(); ++y) {
    pass.in = middle_.data() + y_.starts[y] * middle_stride_;
    pass.weights = packed_y_.weights.data() + y * static_cast<size_t>(words);
    pass.out = out + static_cast<int64_t>(y) * stride;
    kernels_.vertical(pass);
  }
}

}  // namespace shoal::data
