#pragma once
// Schedules of image size and augmentation strength by epoch (EfficientNetV2's progressive
// learning, FFCV's progressive resizing), and of image size by step (multi-scale training). Pure
// functions, so all ranks and threads get the same values.

#include <cstdint>
#include <string>
#include <vector>

namespace shoal::data {

// A value by epoch: interpolated linearly between points, constant before the first and after the
// last. With two points at the same epoch, the value jumps to that of the second.
struct EpochSchedule {
  struct Point {
    double epoch = 0, value = 0;
    bool share = false;  // `epoch` is a fraction of all epochs of the run
    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;

  bool empty() const { return points.empty(); }
  // Returns the value at `epoch`. Requires at least one point, points in the order of their epochs,
  // and no point with `share` set.
  double at(double epoch) const;
  // Returns the schedule with fractions converted to epochs, for a run of `epochs` epochs.
  EpochSchedule over(double epochs) const;
  bool operator==(const EpochSchedule&) const = default;
};

// Parses "EPOCH:VALUE,EPOCH:VALUE,…", where an epoch is a number >= 0 or N% of the run; "none"
// gives no points. Does not check that the epochs ascend, because N% depends on the length of the
// run. The caller must check this after over(). Throws std::invalid_argument with a description of
// valid text.
EpochSchedule parse_epoch_schedule(const std::string& text);

struct Progression {
  // All fields of this struct change the result of training.
  int64_t size = 224;  // side of the images in pixels, if neither `sizes` nor `smallest` is set
  EpochSchedule sizes = {};  // side by epoch, rounded to multiples of kStep
  // Multi-scale: draws the side of each step's images from the multiples of kStep between
  // `smallest` and `largest`; 0: off.
  int64_t smallest = 0, largest = 0;
  int64_t images_per_step = 1;  // over all ranks
  uint64_t seed = 0;            // seed of the multi-scale draws
  // Factor by epoch, which multiplies the augmentation policy's magnitude, the alphas of mixup and
  // cutmix, and the dropout rates.
  EpochSchedule strengths = {};

  static constexpr int64_t kStep = 32;  // pixels

  // Returns the side in pixels of the image at `position` of the epoch's order.
  int64_t side(int64_t epoch, int64_t position) const;
  int64_t smallest_side() const;
  int64_t largest_side() const;
  double strength(int64_t epoch) const;
};

}  // namespace shoal::data
