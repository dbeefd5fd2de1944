#include "train/run/run_images.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "train/report/tensorboard/histogram.h"

namespace shoal::train {
namespace {

constexpr int64_t kMaxImages = 16;

uint8_t level(double value) {
  return static_cast<uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
}

}  // namespace

ImageGrid first_images(const at::Tensor& images, const Normalization& normalization,
                       const std::string& tag, int64_t step) {
  const at::NoGradGuard no_grad;
  const int64_t count = std::min(images.size(0), kMaxImages), channels = images.size(1);
  const at::Tensor host =
      images.narrow(0, 0, count).to(at::kCPU).to(at::kFloat).permute({0, 2, 3, 1}).contiguous();
  ImageGrid grid;
  grid.tag = tag;
  grid.step = step;
  grid.height = host.size(1);
  grid.width = host.size(2);
  const auto* value = host.const_data_ptr<float>();
  for (int64_t i = 0; i < count; ++i) {
    std::vector<uint8_t>& pixels = grid.images.emplace_back();
    for (int64_t pixel = 0; pixel < grid.height * grid.width; ++pixel, value += channels) {
      for (size_t c = 0; c < 3; ++c) {
        const double normalized = value[channels == 3 ? c : 0];
        pixels.push_back(level(normalized * normalization.std[c] + normalization.mean[c]));
      }
    }
  }
  return grid;
}

std::vector<Histogram> histograms_of(const FlatParameters& parameters) {
  const at::NoGradGuard no_grad;
  std::vector<Histogram> histograms;
  const auto add = [&](const char* kind, const at::Tensor& flat) {
    const at::Tensor host = flat.to(at::kCPU).to(at::kFloat);
    for (size_t i = 0; i < parameters.names().size(); ++i) {
      const ops::Segment& segment = parameters.segments()[i];
      histograms.push_back(make_histogram(kind + parameters.names()[i],
                                          std::span(host.const_data_ptr<float>() + segment.offset,
                                                    static_cast<size_t>(segment.length))));
    }
  };
  add("weights/", parameters.flat());
  add("gradients/", parameters.gradients());
  return histograms;
}

std::vector<RateGroup> rate_groups(const FlatParameters& parameters) {
  std::vector<RateGroup> groups;
  for (size_t i = 0; i < parameters.names().size(); ++i) {
    const double scale = parameters.segments()[i].lr_scale;
    if (!groups.empty() && groups.back().scale == scale) continue;
    const std::string& name = parameters.names()[i];
    groups.push_back({name.substr(0, name.rfind('.')), scale});
  }
  return groups;
}

}  // namespace shoal::train
