#include "train/report/tensorboard/histogram.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shoal::train {

constexpr size_t kParts = 64;

Histogram make_histogram(std::string tag, std::span<const float> values) {
  Histogram histogram{.tag = std::move(tag), .counts = std::vector<int64_t>(kParts)};
  bool any = false;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    histogram.min = any ? std::min(histogram.min, value) : value;
    histogram.max = any ? std::max(histogram.max, value) : value;
    histogram.sum += value;
    histogram.sum_of_squares += value * value;
    any = true;
  }
  const double width = (histogram.max - histogram.min) / kParts;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    const double part = width > 0 ? (value - histogram.min) / width : 0;
    ++histogram.counts[std::min(static_cast<size_t>(part), kParts - 1)];
  }
  return histogram;
}

}  // namespace shoal::train
