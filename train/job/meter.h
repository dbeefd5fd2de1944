#pragma once
// Sums of metrics over images, in training or evaluation. Means are computed only for printing.
// Does not use LibTorch.

#include <array>
#include <cstdint>

namespace shoal::train {

struct Meter {
  double loss = 0;     // sum of the losses of all images
  double top1 = 0;     // images whose label has the highest score (ops/places.h)
  double top5 = 0;     // images whose label is among the five highest scores
  double images = 0;   // number of images in the sums above
  double skipped = 0;  // unreadable images, and images of skipped or non-finite steps

  void add(const Meter& other) {
    loss += other.loss, top1 += other.top1, top5 += other.top5, images += other.images,
        skipped += other.skipped;
  }
  bool empty() const { return images <= 0; }
  double mean_loss() const { return images > 0 ? loss / images : 0; }
  double top1_percent() const { return images > 0 ? 100 * top1 / images : 0; }
  double top5_percent() const { return images > 0 ? 100 * top5 / images : 0; }

  // The sums as plain numbers, for reductions over ranks and for checkpoints.
  static constexpr int kValues = 5;
  std::array<double, kValues> values() const { return {loss, top1, top5, images, skipped}; }
  static Meter from(const double* v) { return {v[0], v[1], v[2], v[3], v[4]}; }
};

}  // namespace shoal::train
