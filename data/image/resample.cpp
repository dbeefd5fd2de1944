// Computes weights in double precision and rounds them to 22 fractional bits, in the same steps as
// Pillow's precompute_coeffs and normalize_coeffs_8bpc. Integer sums are exact in any order, so the
// results are bit-equal to Pillow's.
#include "data/image/resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/grow.h"
#include "data/image/resample_kernels.h"

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

// Rounds to 22 fractional bits. Exact halves are rounded away from zero.
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

bool vertical_first(const AxisRequest& x, const AxisRequest& y) {
  return y.out < y.in && y.in - y.out > 2 * (x.in - x.out);
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
  rows_ = kept_from_ = finished_ = 0;
  vertical_first_ = data::vertical_first(x, y);
  // The vertical pass may read up to packed_y_.taps rows after the last row, with weight zero.
  if (!vertical_first_) return grow(middle_, (y_.source_count + packed_y_.taps) * middle_stride_);
  kept_stride_ = (x_.source_count * 3 + 31) / 32 * 32;
  kept_most_ = 2 * y_.taps;
  grow(kept_, (kept_most_ + packed_y_.taps) * kept_stride_);
  reduced_stride_ = x_.source_count * 3 + padding();
  grow(reduced_, 4 * reduced_stride_);
  grow(done_, y.count * middle_stride_);
}

Box Resizer::needed() const {
  return {x_.source_first, y_.source_first, x_.source_count, y_.source_count};
}

int64_t Resizer::padding() const {
  return 3 * static_cast<int64_t>(packed_x_.taps) + 16;
}

HorizontalPass Resizer::horizontal_pass() const {
  HorizontalPass pass{};
  pass.starts = x_.starts.data();
  pass.weights = packed_x_.weights.data();
  pass.count = static_cast<int64_t>(x_.starts.size());
  pass.taps = packed_x_.taps;
  return pass;
}

VerticalPass Resizer::vertical_pass(int64_t row, const uint8_t* buffer, int64_t from,
                                    int64_t stride) const {
  VerticalPass pass{};
  pass.in = buffer + (y_.starts[static_cast<size_t>(row)] - from) * stride;
  pass.stride = stride;
  pass.taps = packed_y_.taps;
  pass.weights =
      packed_y_.weights.data() + row * int64_t{pass.taps / kernels_.group * kernels_.words};
  return pass;
}

void Resizer::push(const RowBlock& rows) {
  if (vertical_first_) return push_vertical_first(rows);
  HorizontalPass pass = horizontal_pass();
  for (int64_t row = 0; row < rows.count; row += 4) {
    for (int64_t i = 0; i < 4; ++i) {  // repeats the last row if fewer than four are left
      const int64_t at = std::min(row + i, rows.count - 1);
      pass.in[i] = rows.data + at * rows.stride;
      pass.out[i] = middle_.data() + (rows_ + at) * middle_stride_;
    }
    kernels_.horizontal(pass);
  }
  rows_ += rows.count;
}

void Resizer::push_vertical_first(const RowBlock& rows) {
  const auto count = static_cast<int64_t>(y_.starts.size());
  for (int64_t row = 0; row < rows.count; ++row) {
    if (finished_ == count) return;
    if (rows_ - kept_from_ == kept_most_) {
      const int64_t first = y_.starts[static_cast<size_t>(finished_)];
      std::memmove(kept_.data(), kept_.data() + (first - kept_from_) * kept_stride_,
                   static_cast<size_t>((rows_ - first) * kept_stride_));
      kept_from_ = first;
    }
    std::memcpy(kept_.data() + (rows_ - kept_from_) * kept_stride_, rows.data + row * rows.stride,
                static_cast<size_t>(3 * x_.source_count));
    ++rows_;
    while (finished_ < count &&
           rows_ >= std::min<int64_t>(y_.starts[static_cast<size_t>(finished_)] + y_.taps,
                                      y_.source_count))
      reduce_row();
  }
}

// Runs the vertical pass for the next row. After every fourth row and after the last one, runs the
// horizontal pass for the rows since the previous horizontal pass.
void Resizer::reduce_row() {
  VerticalPass vertical = vertical_pass(finished_, kept_.data(), kept_from_, kept_stride_);
  vertical.bytes = 3 * x_.source_count;
  vertical.out = reduced_.data() + finished_ % 4 * reduced_stride_;
  kernels_.vertical(vertical);
  ++finished_;
  if (finished_ % 4 != 0 && finished_ < static_cast<int64_t>(y_.starts.size())) return;
  HorizontalPass pass = horizontal_pass();
  const int64_t first = (finished_ - 1) / 4 * 4;
  for (int64_t i = 0; i < 4; ++i) {  // repeats the last row if fewer than four are left
    const int64_t at = std::min(first + i, finished_ - 1);
    pass.in[i] = reduced_.data() + at % 4 * reduced_stride_;
    pass.out[i] = done_.data() + at * middle_stride_;
  }
  kernels_.horizontal(pass);
}

void Resizer::finish(uint8_t* out, int64_t stride) {
  const auto bytes = static_cast<int64_t>(x_.starts.size()) * 3;
  for (int64_t y = 0; y < static_cast<int64_t>(y_.starts.size()); ++y) {
    if (vertical_first_) {
      std::memcpy(out + y * stride, done_.data() + y * middle_stride_, static_cast<size_t>(bytes));
      continue;
    }
    VerticalPass pass = vertical_pass(y, middle_.data(), 0, middle_stride_);
    pass.bytes = bytes;
    pass.out = out + y * stride;
    kernels_.vertical(pass);
  }
}

}  // namespace shoal::data
