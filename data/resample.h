#pragma once
// Antialiased resizing as Pillow does it (its Resample.c): separable, centre-aligned, the filter's
// support multiplied by the shrink factor, the window clipped to the picture and its weights
// renormalised, horizontal pass first, 8 bits in between. Bit for bit what Pillow gives (from
// version 13 on Pillow goes vertical first where the height shrinks much more than the width; we do
// not), on every processor.

#include <cstdint>
#include <vector>

#include "data/data_options.h"
#include "data/geometry.h"
#include "data/isa.h"

namespace shoal::data {

// One direction: `in` pixels resized to `out`, of which [first, first + count) are wanted.
struct AxisRequest {
  int64_t in = 0, out = 0;
  int64_t first = 0, count = 0;
  bool mirror = false;  // deliver the wanted pixels in reverse
};

// The weights of one direction. Reused from picture to picture.
struct Axis {
  int64_t source_first = 0, source_count = 0;  // source pixels that are looked at
  int32_t taps = 0;              // of every pixel, those beyond its window with weight 0
  std::vector<int32_t> starts;   // count: first source pixel, relative to source_first
  std::vector<int32_t> weights;  // count × taps, of kWeightBits fractional bits

  void build(const AxisRequest& request, Interpolation interpolation);

 private:
  std::vector<double> exact_;
};

// Resizes one picture after the other; one object per thread. Rows of the source are pushed from
// the top as they are decoded, so the source is never held as a whole.
class Resizer {
 public:
  explicit Resizer(Isa isa = best_isa());

  void begin(const AxisRequest& x, const AxisRequest& y, Interpolation interpolation);

  // The part of the source (left, top, width, height) whose rows must be pushed, all of them.
  Box needed() const;
  // Bytes behind each pushed row that must be readable.
  int64_t padding() const;

  const Axis& x() const { return x_; }
  const Axis& y() const { return y_; }

  void push(const RowBlock& rows);

  // Writes the pixels: x.count * 3 bytes a row, y.count rows, `stride` bytes apart.
  void finish(uint8_t* out, int64_t stride);

 private:
  // The weights of an axis as the kernels want them.
  struct Packed {
    int32_t taps = 0;  // with those that fill the last group
    std::vector<int32_t> weights;
  };
  void pack(const Axis& axis, Packed& packed) const;

  const struct ResampleKernels& kernels_;
  Axis x_, y_;
  Packed packed_x_, packed_y_;
  std::vector<uint8_t> middle_;  // source rows after the horizontal pass
  int64_t middle_stride_ = 0, rows_ = 0;
};

}  // namespace shoal::data
