#pragma once
// Antialiased resizing as Pillow does it (its Resample.c): separable, centre-aligned, the filter's
// support multiplied by the shrink factor, the window clipped to the image and its weights
// renormalised, 8 bits between the passes. Bit for bit what Pillow 13 gives, on every processor.
// Older versions give the same where they do the same pass first (vertical_first()); elsewhere levels
// differ, with the bilinear filter by one.

#include <cstdint>
#include <vector>

#include "data/data_options.h"
#include "data/image/geometry.h"
#include "data/isa.h"

namespace shoal::data {

struct HorizontalPass;
struct VerticalPass;

// One direction: `in` pixels resized to `out`, of which [first, first + count) are wanted.
struct AxisRequest {
  int64_t in = 0, out = 0;
  int64_t first = 0, count = 0;
  bool mirror = false;  // deliver the wanted pixels in reverse
};

// Whether the vertical pass goes first. As in Pillow 13: the height is reduced, by more than twice
// as many pixels as the width. (Pillow 12.2 and 12.3: it is reduced, and more than 100 times the
// width; before: never.)
bool vertical_first(const AxisRequest& x, const AxisRequest& y);

// The weights of one direction. Reused from image to image.
struct Axis {
  int64_t source_first = 0, source_count = 0;  // source pixels that are looked at
  int32_t taps = 0;              // of every pixel, those beyond its window with weight 0
  std::vector<int32_t> starts;   // count: first source pixel, relative to source_first
  std::vector<int32_t> weights;  // count × taps, of kWeightBits fractional bits

  void build(const AxisRequest& request, Interpolation interpolation);

 private:
  std::vector<double> exact_;
};

// Resizes one image after the other; one object per thread. Rows of the source are pushed from
// the top as they are decoded, so the source is never held as a whole.
class Resizer {
 public:
  explicit Resizer(Isa isa = best_isa());

  // `y` must not be mirrored.
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
  HorizontalPass horizontal_pass() const;
  // Of a row of the result; `buffer` holds source rows from number `from` on.
  VerticalPass vertical_pass(int64_t row, const uint8_t* buffer, int64_t from,
                             int64_t stride) const;
  void push_vertical_first(const RowBlock& rows);
  void reduce_row();

  const struct ResampleKernels& kernels_;
  Axis x_, y_;
  Packed packed_x_, packed_y_;
  int64_t rows_ = 0;             // pushed
  std::vector<uint8_t> middle_;  // source rows after the horizontal pass
  int64_t middle_stride_ = 0;

  // Vertical first: the source rows from number `kept_from_` on, which coming rows need; up to four
  // rows after the vertical pass; finished rows, middle_stride_ bytes apart.
  bool vertical_first_ = false;
  std::vector<uint8_t> kept_, reduced_, done_;
  int64_t kept_stride_ = 0, kept_most_ = 0, kept_from_ = 0, reduced_stride_ = 0;
  int64_t finished_ = 0;  // rows after the vertical pass
};

}  // namespace shoal::data
