#pragma once
// Schedules of image size and augmentation strength by epoch (EfficientNetV2's progressive learning,
// FFCV's progressive resizing), and of image size by step (multi-scale). Pure functions, so all ranks
// and threads agree.

#include <cstdint>
#include <string>
#include <vector>

namespace shoal::data {

// A value by epoch: linear between points, constant before the first and after the last. Two points
// at one epoch make a jump to the second.
struct Course {
  struct Point {
    double epoch = 0, value = 0;
    bool share = false;  // epoch is a share of all epochs of the run
    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;

  bool empty() const { return points.empty(); }
  // Value at `epoch`. There must be points, none of them a share.
  double at(double epoch) const;
  // Converts shares into epochs of a run of `epochs` epochs.
  Course over(double epochs) const;
  bool operator==(const Course&) const = default;
};

// Parses "EPOCH:VALUE,EPOCH:VALUE,…", where an epoch is a number >= 0 or N% of the run; "none" gives
// no points. Throws std::invalid_argument with a description of valid text.
Course parse_course(const std::string& text);

struct Progression {
  // Changes the result.
  int64_t size = 224;  // pixels, side of the images unless a schedule below is set
  Course sizes;        // by epoch, rounded to multiples of kStep
  // Draws the side of each step's images from the multiples of kStep between `smallest` and
  // `largest`; 0: off.
  int64_t smallest = 0, largest = 0;
  int64_t update = 1;  // images of one step, over all ranks
  uint64_t seed = 0;   // of these draws
  Course strengths;    // by epoch: factor for policy magnitude, mixup and cutmix, and dropout

  static constexpr int64_t kStep = 32;  // pixels

  Progression() = default;
  Progression(int64_t side) : size(side) {}  // NOLINT: a size is a constant progression

  // Side of the image at `position` of the epoch's order, pixels.
  int64_t side(int64_t epoch, int64_t position) const;
  int64_t largest_side() const;
  double strength(int64_t epoch) const;
};

}  // namespace shoal::data
