#pragma once
// Inner loops of augmentation: plain functions over plain structs, compiled for several instruction
// sets. All versions give the same bits.

#include <stdint.h>

#include "data/isa.h"

namespace shoal::data::augment {

enum : int64_t { kBorder = 3 };  // pixels: border of the source image (bordered.h)

// One row of an affine transform. Computes the pixels [first, first + count). Their source
// positions must be inside the image.
struct AffineRow {
  const uint8_t* in;  // pixel (0, 0) of a Bordered image; 16 bytes after its end are readable
  int64_t stride;     // bytes
  // Source position of a pixel: x = x_step * (column + 0.5) + x_row + x_shift, y likewise.
  double x_step, x_row, x_shift, y_step, y_row, y_shift;
  int64_t first, count;
  uint8_t* out;  // pixel `first`; overwrites up to 8 bytes after the last pixel
};

// One row of a box filter of fractional width. The 2 * radius + 1 bytes around each byte, `step`
// bytes apart, have the weight `inner`; the next one on each side has the weight `outer`. All these
// bytes must be readable. Weights have 24 fractional bits.
struct BoxRow {
  const uint8_t* in;
  int64_t step, bytes;
  int32_t radius;
  uint32_t inner, outer;
  uint8_t* out;
};

// Maps each byte: masks it with `keep`. Then, if the result is below `from`, adds `add` (saturating
// at 255), else flips the bits that are set in `flip`.
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
  // Writes the weighted mean of 3 × 3 pixels, the middle one with weight 5, the others with 1.
  // Computes one row without its first and last pixel. `in`: the first byte of the second pixel;
  // the rows above and below are `stride` bytes away.
  void (*smooth)(const uint8_t* in, int64_t stride, int64_t bytes, uint8_t* out);
  void (*box)(const BoxRow& row);
  void (*bilinear)(const AffineRow& row);
  void (*bicubic)(const AffineRow& row);
};

const Kernels& kernels(Isa isa);

}  // namespace shoal::data::augment
