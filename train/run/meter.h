#pragma once
// Sums of a stretch of training or evaluation. Division happens when something is printed.

#include <array>
#include <cmath>
#include <cstdint>

namespace shoal::train {

struct Meter {
  double loss = 0;     // sum over images
  double top1 = 0;     // images whose label came first by score (ops/places.h)
  double top5 = 0;     // images whose label is among the first five
  double images = 0;   // images that count
  double skipped = 0;  // images that do not: unreadable, or of an update that was not finite

  void add(const Meter& other) {
    loss += other.loss, top1 += other.top1, top5 += other.top5, images += other.images,
        skipped += other.skipped;
  }
  // `sum` on a grid of 2^-24: such numbers add up without rounding (to 2^29), so a total is the
  // same however the images were cut into batches, ranks and reports.
  static double exact(double sum) { return std::ldexp(std::nearbyint(std::ldexp(sum, 24)), -24); }

  bool empty() const { return images <= 0; }
  double mean_loss() const { return images > 0 ? loss / images : 0; }
  double top1_percent() const { return images > 0 ? 100 * top1 / images : 0; }
  double top5_percent() const { return images > 0 ? 100 * top5 / images : 0; }

  // For reducing over ranks and for checkpoints.
  static constexpr int kValues = 5;
  std::array<double, kValues> values() const { return {loss, top1, top5, images, skipped}; }
  static Meter from(const double* v) { return {v[0], v[1], v[2], v[3], v[4]}; }
};

}  // namespace shoal::train
