#include "train/run/run_images.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "base/net/base64.h"
#include "base/text.h"
#include "data/image/thumbnail.h"
#include "train/report/tensorboard/histogram.h"

namespace shoal::train {
namespace {

uint8_t level(double value) {
  return static_cast<uint8_t>(std::lround(255 * std::clamp(value, 0.0, 1.0)));
}

}  // namespace

ImageGrid first_images(const at::Tensor& images, const Normalization& normalization,
                       const std::string& tag, int64_t step) {
  const at::NoGradGuard no_grad;
  const int64_t count = std::min(images.size(0), int64_t{WorstPixels::kGrid}),
                channels = images.size(1);
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

WorstPixels::WorstPixels(const data::TransformOptions& evaluation)
    : side_(evaluation.eval_size), channels_(evaluation.channels) {}

void WorstPixels::add(const data::Batch& batch, const std::vector<ImageResult>& results) {
  // Images of earlier batches come first, so images of equal loss keep the order of evaluation.
  std::vector<ImageResult> all = std::move(results_);
  const size_t before = all.size();
  all.insert(all.end(), results.begin(), results.end());
  results_.clear();
  std::vector<Kept> worst;
  for (const size_t place : highest_losses(all, EvaluationReport::kWorst)) {
    results_.push_back(all[place]);
    if (place < before) {
      worst.push_back(std::move(kept_[place]));
    } else {
      const auto row = static_cast<int64_t>(place - before);
      const uint8_t* first = batch.images + row * batch.views * batch.image_bytes();
      worst.push_back({{first, first + batch.image_bytes()},
                       base64(data::thumbnail(first, {side_, side_}, channels_))});
    }
    if (worst.size() > kGrid) worst.back().pixels = {};
  }
  kept_ = std::move(worst);
}

const WorstPixels::Kept& WorstPixels::kept(int64_t image) const {
  const auto found = std::ranges::find(results_, image, &ImageResult::image);
  return kept_.at(static_cast<size_t>(found - results_.begin()));
}

ImageGrid WorstPixels::grid(const dist::Group& group, const EvaluationReport& report,
                            const std::vector<std::string>& classes) const {
  const std::vector<size_t> places = highest_losses(report.images, kGrid);
  // Each rank copies the images that it evaluated and leaves the others zero, so the sum over all
  // ranks contains every image.
  const int64_t bytes = side_ * side_ * channels_;
  at::Tensor sum = at::zeros({static_cast<int64_t>(places.size()), bytes}, at::kByte);
  auto* const values = sum.mutable_data_ptr<uint8_t>();
  for (size_t i = 0; i < places.size(); ++i) {
    const ImageResult& one = report.images[places[i]];
    if (one.rank != group.rank()) continue;
    std::memcpy(values + static_cast<int64_t>(i) * bytes, kept(one.image).pixels.data(),
                static_cast<size_t>(bytes));
  }
  group.all_reduce_sum(sum);
  // With --classes N, the model may have more outputs than the data has classes.
  const auto name = [&](int32_t label) {
    const auto i = static_cast<size_t>(label);
    return i < classes.size() ? printable(classes[i]) : "class " + std::to_string(label);
  };
  ImageGrid grid;
  grid.height = grid.width = side_;
  for (size_t i = 0; i < places.size(); ++i) {
    const uint8_t* pixel = values + static_cast<int64_t>(i) * bytes;
    std::vector<uint8_t>& image = grid.images.emplace_back();
    for (int64_t k = 0; k < side_ * side_; ++k, pixel += channels_)
      for (int64_t c = 0; c < 3; ++c) image.push_back(pixel[channels_ == 3 ? c : 0]);
    const WorstImage& worst = report.worst.at(i);
    grid.captions.push_back(strf("%s, predicted %s %.1f %%, loss %.4g, %s",
                                 name(worst.label).c_str(), name(worst.predicted).c_str(),
                                 100 * worst.probability, worst.loss,
                                 printable(worst.path).c_str()));
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
