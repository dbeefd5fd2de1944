#include "data/image/planar_resampler.h"

#include <algorithm>
#include <cstring>

#include "base/grow.h"
#include "base/round.h"
#include "data/image/resample_kernels.h"

namespace shoal::data {
namespace {

constexpr int64_t kVector = 32;  // bytes after a row that kernels may read and write

}  // namespace

// Builds the weights for one plane. `axis`: weights for full-size samples. `offset`: position in
// the image of source pixel 0 of `axis`. `halved`: whether the plane has one sample for every two
// full-size samples. If so, a full-size sample is 3/4 of the nearest plane sample plus 1/4 of the
// second nearest (smooth upsampling). `samples`: size of the plane in this direction.
void PlanarResampler::Direction::build(const Axis& axis, int64_t offset, bool halved,
                                       int64_t samples) {
  const auto outputs = static_cast<int64_t>(axis.starts.size());
  const int64_t origin = offset + axis.source_first;
  const int64_t end = origin + axis.source_count;
  const int64_t begin = halved ? std::max<int64_t>(0, (origin + 1) / 2 - 1) : origin;
  const int64_t last = halved ? std::min(samples - 1, end / 2) : end - 1;
  first = begin;
  count = last - begin + 1;
  const int64_t needed = halved ? axis.taps / 2 + 2 : axis.taps;
  taps = static_cast<int32_t>((std::min(needed, count) + 1) / 2 * 2);
  starts.resize(static_cast<size_t>(outputs));
  weights.assign(static_cast<size_t>(outputs * taps), 0);
  sums_.resize(static_cast<size_t>(taps));
  for (int64_t i = 0; i < outputs; ++i) {
    const int32_t* const exact = axis.weights.data() + i * axis.taps;
    const int64_t at = origin + axis.starts[static_cast<size_t>(i)];
    const int64_t earliest = halved ? std::max<int64_t>(0, (at + 1) / 2 - 1) : at;
    // Starts earlier if the last taps would otherwise read beyond the samples. The taps before
    // `earliest` have weight zero.
    const int64_t start = std::max(begin, std::min(earliest, begin + count - taps));
    std::fill(sums_.begin(), sums_.end(), 0);
    for (int32_t k = 0; k < axis.taps; ++k) {
      const int32_t weight = exact[k];
      if (weight == 0) continue;
      const int64_t full = at + k;
      if (!halved) {
        sums_[static_cast<size_t>(full - start)] += 4 * weight;
        continue;
      }
      const int64_t own = full / 2;
      const int64_t other = std::clamp<int64_t>(full % 2 == 0 ? own - 1 : own + 1, 0, samples - 1);
      sums_[static_cast<size_t>(own - start)] += 3 * weight;
      sums_[static_cast<size_t>(other - start)] += weight;
    }
    // Rounded weights must still sum to one, so the remainder is added to the largest.
    int16_t* const out = weights.data() + i * taps;
    int32_t rest = 1 << kPlanarBits;
    int32_t largest = 0;
    for (int32_t k = 0; k < taps; ++k) {
      constexpr int kDrop = kWeightBits + 2 - kPlanarBits;
      out[k] = static_cast<int16_t>((sums_[static_cast<size_t>(k)] + (1 << (kDrop - 1))) >> kDrop);
      rest -= out[k];
      if (out[k] > out[largest]) largest = k;
    }
    out[largest] = static_cast<int16_t>(out[largest] + rest);
    starts[static_cast<size_t>(i)] = static_cast<int32_t>(start - begin);
  }
}

PlanarResampler::PlanarResampler(Isa isa)
    : kernels_(planar_kernels(isa)), colors_(jpeg::kernels(isa)) {}

void PlanarResampler::run(jpeg::Planes& planes, int64_t left, int64_t top, const Axis& x,
                          const Axis& y, uint8_t* out, int64_t stride) {
  const jpeg::Header& header = planes.header();
  const Axis* const axes[] = {&x, &y};
  const int64_t offsets[] = {left, top}, sizes[] = {header.size.width, header.size.height};
  const bool halved[] = {header.horizontal == 2, header.vertical == 2};
  for (int i = 0; i < 2; ++i) {
    luma_[i].build(*axes[i], offsets[i], false, sizes[i]);
    if (header.count == 3 && halved[i])
      chroma_[i].build(*axes[i], offsets[i], true, (sizes[i] + 1) / 2);
  }
  for (int c = 0; c < header.count; ++c) {
    const auto along = [&](int i) -> const Direction& {
      return c > 0 && halved[i] ? chroma_[i] : luma_[i];
    };
    resize(planes, c, along(0), along(1), planes_[c]);
  }
  const auto width = static_cast<int64_t>(x.starts.size());
  const auto height = static_cast<int64_t>(y.starts.size());
  const int64_t row = round_up(width, kVector);
  grow(row_, 3 * width + 64);
  for (int64_t i = 0; i < height; ++i) {
    const uint8_t* const luma = planes_[0].data() + i * row;
    // Converts into row_, not into `out`, because the conversion writes beyond the end of the row.
    if (header.count == 1)
      colors_.gray_to_rgb(luma, row_.data(), width);
    else
      colors_.to_rgb(luma, planes_[1].data() + i * row, planes_[2].data() + i * row, row_.data(),
                     width);
    std::memcpy(out + i * stride, row_.data(), static_cast<size_t>(3 * width));
  }
}

// Runs the vertical pass, transposes the plane, runs the same kernel for the horizontal pass, and
// transposes back.
void PlanarResampler::resize(jpeg::Planes& planes, int component, const Direction& x,
                             const Direction& y, std::vector<uint8_t>& out) {
  const jpeg::Planes::View view = planes.view(component);
  const auto width = static_cast<int64_t>(x.starts.size());
  const auto height = static_cast<int64_t>(y.starts.size());
  const int64_t wide = round_up(x.count, kVector), high = round_up(height, kVector);
  grow(middle_, wide * high + kVector);
  RowSums rows{};
  rows.in = view.at(x.first, y.first);
  rows.in_stride = view.stride;
  rows.starts = y.starts.data();
  rows.weights = y.weights.data();
  rows.taps = y.taps;
  rows.bias = kPlanarHalf;
  rows.rows = height;
  rows.bytes = x.count;
  rows.out = middle_.data();
  rows.out_stride = wide;
  kernels_.sum_rows(rows);

  grow(turned_, (wide + 1) * high + kVector);
  kernels_.transpose(middle_.data(), wide, turned_.data(), high, high, wide);
  const int64_t across = round_up(width, kVector);
  grow(columns_, across * high + kVector);
  RowSums columns{};
  columns.in = turned_.data();
  columns.in_stride = high;
  columns.starts = x.starts.data();
  columns.weights = x.weights.data();
  columns.taps = x.taps;
  columns.bias = kPlanarHalf;
  columns.rows = width;
  columns.bytes = height;
  columns.out = columns_.data();
  columns.out_stride = high;
  kernels_.sum_rows(columns);
  grow(out, across * high + kVector);
  kernels_.transpose(columns_.data(), high, out.data(), across, across, high);
}

}  // namespace shoal::data
