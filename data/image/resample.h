#pragma once
// Antialiased resize, bit-equal to Pillow 13 (Resample.c) on every processor. Runs a horizontal and
// a vertical pass; rounds the result of the first pass to 8 bits. Aligns input and output at their
// edges, not at the centers of their corner pixels. When an image shrinks, the filter's support
// grows by the same factor. The filter's window is clipped to the image, and the weights inside are
// scaled to sum to 1.
//
// Older versions of Pillow give the same bits if they run the same pass first (vertical_first()).
// Otherwise pixel values differ; with the bilinear filter, by at most one level.

#include <cstdint>
#include <vector>

#include "data/data_options.h"
#include "data/geometry.h"
#include "data/isa.h"

namespace shoal::data {

struct HorizontalPass;
struct VerticalPass;

// One direction of a resize from `in` to `out` pixels. The resize computes only the output pixels
// [first, first + count).
struct AxisRequest {
  int64_t in = 0, out = 0;
  int64_t first = 0, count = 0;
  bool mirror = false;  // write these pixels in reverse order
};

// Whether to run the vertical pass first. The rule of Pillow 13: if the height shrinks, and by more
// than twice as many pixels as the width. (Pillow 12.2 and 12.3: if the height shrinks and is more
// than 100 times the width. Earlier versions: never.)
bool vertical_first(const AxisRequest& x, const AxisRequest& y);

// Filter weights of one direction. build() reuses the memory of the previous image. For build() and
// Resizer::begin(), `interpolation` must be bilinear or bicubic, not random.
struct Axis {
  int64_t source_first = 0, source_count = 0;  // source pixels that are read
  int32_t taps = 0;              // weights per output pixel; those outside the window are zero
  std::vector<int32_t> starts;   // first source pixel per output pixel, relative to source_first
  std::vector<int32_t> weights;  // `taps` per output pixel, with kWeightBits fractional bits

  void build(const AxisRequest& request, Interpolation interpolation);

 private:
  std::vector<double> exact_;
};

// Resizes one image after another. Use one object per thread. The caller pushes source rows from
// the top as it decodes them, so the whole source is never in memory.
class Resizer {
 public:
  explicit Resizer(Isa isa = best_isa());

  // Starts an image. `y` must not be mirrored.
  void begin(const AxisRequest& x, const AxisRequest& y, Interpolation interpolation);

  // Returns the box of source pixels that the resize reads. The caller must push every row of it.
  Box needed() const;
  // Returns the number of bytes after each pushed row that must be readable.
  int64_t padding() const;

  const Axis& x() const { return x_; }
  const Axis& y() const { return y_; }

  // Processes the next rows of needed(). Does not use `rows` after it returns.
  void push(const RowBlock& rows);

  // Call after the last push(). Writes y.count rows of x.count RGB pixels; rows are `stride` bytes
  // apart.
  void finish(uint8_t* out, int64_t stride);

 private:
  // Filter weights of one axis, in the order in which the loops of resample_kernels.h read them.
  struct Packed {
    int32_t taps = 0;  // rounded up to a whole group
    std::vector<int32_t> weights;
  };
  void pack(const Axis& axis, Packed& packed) const;
  HorizontalPass horizontal_pass() const;
  // Returns the arguments of the vertical pass for output row `row`; the caller must set `out` and
  // `bytes`. `buffer`: source rows, `stride` bytes apart; the first one has number `from`.
  VerticalPass vertical_pass(int64_t row, const uint8_t* buffer, int64_t from,
                             int64_t stride) const;
  void push_vertical_first(const RowBlock& rows);
  void reduce_row();

  const struct ResampleKernels& kernels_;
  Axis x_, y_;
  Packed packed_x_, packed_y_;
  int64_t rows_ = 0;             // number of rows pushed
  std::vector<uint8_t> middle_;  // source rows after the horizontal pass
  int64_t middle_stride_ = 0;

  // Used if the vertical pass comes first. kept_: source rows that later output rows need; the
  // first one has number kept_from_. reduced_: up to four rows after the vertical pass. done_: rows
  // after both passes, middle_stride_ bytes apart.
  bool vertical_first_ = false;
  std::vector<uint8_t> kept_, reduced_, done_;
  int64_t kept_stride_ = 0, kept_most_ = 0, kept_from_ = 0, reduced_stride_ = 0;
  int64_t finished_ = 0;  // number of rows that the vertical pass has computed
};

}  // namespace shoal::data
