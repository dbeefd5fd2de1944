#pragma once
// Inner loops of augmentation: plain functions over plain structs, compiled for several instruction
// sets. All versions give the same bits.

#include <stdint.h>

#include "data/isa.h"

namespace shoal::data::augment {

enum : int64_t { kBorder = 3 };  // width of the source image's border (bordered.h), in pixels

// Arguments for the pixels [first, first + count) of one row of an affine transform. Their source
// positions must be inside the image.
struct AffineRow {
  const uint8_t* in;  // pixel (0, 0) of a Bordered image; 16 bytes after the image are readable
  int64_t stride;     // bytes from one source row to the next
  // Source position of a pixel: x = x_step * (column + 0.5) + x_row + x_shift, y likewise.
  double x_step, x_row, x_shift, y_step, y_row, y_shift;
  int64_t first, count;
  uint8_t* out;  // where pixel `first` goes; kernels overwrite up to 8 bytes after the last pixel
};

// Arguments for one row of a box filter of fractional width. Each output byte is a weighted sum of
// input bytes that are `step` bytes apart. The input byte at the same position and `radius` bytes
// on each side of it have the weight `inner`. The next byte on each side has the weight `outer`.
// All these bytes must be readable. Weights have 24 fractional bits.
struct BoxRow {
  const uint8_t* in;
  int64_t step, bytes;
  int32_t radius;
  uint32_t inner, outer;
  uint8_t* out;
};

// Describes how to change a byte: first mask it with `keep`. Then, if the result is below `from`,
// add `add` (saturating at 255), else flip the bits that are set in `flip`.
struct LevelMap {
  uint8_t keep;
  int32_t from;  // 0 … 256
  uint8_t add, flip;
};

struct Kernels {
  // Writes Pillow's luma of each pixel to all three channels. in == out is allowed.
  void (*gray)(const uint8_t* in, int64_t pixels, uint8_t* out);
  // Writes from + share * (to - from), clamped to 0 … 255 and truncated. `out` may be `from` or
  // `to`.
  void (*blend)(const uint8_t* from, const uint8_t* to, float share, int64_t bytes, uint8_t* out);
  // Replaces each byte by gray + share * (byte - gray), clamped to 0 … 255 and truncated.
  void (*stretch)(uint8_t gray, float share, int64_t bytes, uint8_t* pixels);
  void (*map)(const LevelMap& map, int64_t bytes, uint8_t* pixels);
  // Writes the weighted mean of each pixel (weight 5) and its 8 neighbors (weight 1). `in`: one row
  // from its second pixel on; the rows above and below are `stride` bytes away. `bytes`: bytes of
  // the row without its first and last pixel.
  void (*smooth)(const uint8_t* in, int64_t stride, int64_t bytes, uint8_t* out);
  void (*box)(const BoxRow& row);
  void (*bilinear)(const AffineRow& row);
  void (*bicubic)(const AffineRow& row);
};

const Kernels& kernels(Isa isa);

}  // namespace shoal::data::augment
