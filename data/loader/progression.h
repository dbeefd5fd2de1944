#pragma once
// How training images change from epoch to epoch: their size, and how strongly they are augmented
// (EfficientNetV2's progressive learning, FFCV's progressive resizing); or their size from update
// to update (multi-scale). Pure functions, alike on every rank and thread.

#include <cstdint>
#include <string>
#include <vector>

namespace shoal::data {

// A value by epoch: linear between points, constant before the first and after the last; of two
// points at one epoch the second holds from there on, so the value jumps.
struct Course {
  struct Point {
    double epoch = 0, value = 0;
    bool share = false;  // epoch is a share of the run's epochs
    bool operator==(const Point&) const = default;
  };
  std::vector<Point> points;

  bool empty() const { return points.empty(); }
  // Not empty; all points in epochs.
  double at(double epoch) const;
  // With every share turned into epochs of a run of so many.
  Course over(double epochs) const;
  bool operator==(const Course&) const = default;
};

// "EPOCH:VALUE,EPOCH:VALUE,…", where an epoch is a number from 0 on or N% of the run's; "none": no
// points. Throws std::invalid_argument with what the text must be.
Course parse_course(const std::string& text);

struct Progression {
  // Changes the result.
  int64_t size = 224;  // pixels, side of the images where nothing below says otherwise
  Course sizes;        // by epoch, rounded to multiples of kStep
  // Of each update's images the side is one of the multiples of kStep from `smallest` to
  // `largest`; 0: off.
  int64_t smallest = 0, largest = 0;
  int64_t update = 1;  // images of one update, over all ranks
  uint64_t seed = 0;   // of these draws
  Course strengths;  // by epoch: factor of the policy's magnitude, of mixup and cutmix, of dropout

  static constexpr int64_t kStep = 32;  // pixels

  Progression() = default;
  Progression(int64_t side) : size(side) {}  // NOLINT: a size is a progression that does not move

  // Side of the image at `position` of the epoch's order.
  int64_t side(int64_t epoch, int64_t position) const;
  int64_t largest_side() const;
  double strength(int64_t epoch) const;
};

}  // namespace shoal::data
