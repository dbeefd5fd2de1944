#pragma once
// Makes reports from tensors: images, histograms, and groups of parameters by learning rate.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/normalization.h"
#include "data/data_options.h"
#include "data/loader/batch.h"
#include "dist/group.h"
#include "train/report/report.h"
#include "train/step/state/flat_parameters.h"

namespace shoal::train {

// Returns up to 16 images from the start of a normalized batch N×C×H×W. Undoes the normalization.
ImageGrid first_images(const at::Tensor& images, const Normalization& normalization,
                       const std::string& tag, int64_t step);

// Keeps the pixels of the images with the highest losses during an evaluation.
class WorstPixels {
 public:
  static constexpr size_t kGrid = 16;  // number of images in a grid

  // `evaluation`: size and channels of the images.
  explicit WorstPixels(const data::TransformOptions& evaluation);

  // Stores the images of the batch that are among this rank's worst so far: thumbnails of the
  // EvaluationReport::kWorst worst images, pixels of the kGrid worst. `results`: one per row of the
  // batch.
  void add(const data::Batch& batch, const std::vector<ImageResult>& results);

  // Returns the worst images of all ranks, highest loss first, with class names, loss and path as
  // captions. The pixels are the network's input before normalization. If the network evaluates
  // several views (crops, flips) of an image, shows the first. `report`: the report of this
  // evaluation. Every rank returns the same grid. Collective: one all-reduce of kGrid images.
  ImageGrid grid(const dist::Group& group, const EvaluationReport& report,
                 const std::vector<std::string>& classes) const;

  // Returns a small JPEG in base64 of one of the worst images. `image`: ImageResult::image.
  const std::string& thumbnail(int64_t image) const { return kept(image).thumbnail; }

 private:
  struct Kept {
    std::vector<uint8_t> pixels;  // side×side×channels; empty except for the worst kGrid images
    std::string thumbnail;
  };
  const Kept& kept(int64_t image) const;

  int64_t side_, channels_;
  std::vector<ImageResult> results_;  // highest loss first
  std::vector<Kept> kept_;            // one per image in results_, in the same order
};

// Returns the histograms of each parameter ("weights/NAME") and of its gradient ("gradients/NAME").
std::vector<Histogram> histograms_of(const FlatParameters& parameters);

// Returns the groups of consecutive parameters with the same learning rate.
std::vector<RateGroup> rate_groups(const FlatParameters& parameters);

}  // namespace shoal::train
