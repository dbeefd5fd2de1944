#pragma once
// The inner loops of augmentation: plain functions over plain structs, compiled for several
// instruction sets, with the same bits everywhere.

#include <stdint.h>

#include "data/isa.h"

namespace shoal::data::augment {

enum : int64_t { kBorder = 3 };  // pixels around a bordered image that repeat its edge

// Pixels [first, first + count) of one row of an affine transform, none of which looks outside.
struct AffineRow {
  const uint8_t* in;  // pixel (0, 0) of a bordered image, readable 16 bytes behind its end
  int64_t stride;     // bytes
  // Where a pixel looks: x = x_step * (column + 0.5) + x_row + x_shift, y likewise.
  double x_step, x_row, x_shift, y_step, y_row, y_shift;
  int64_t first, count;
  uint8_t* out;  // of pixel `first`; 8 bytes behind the last pixel are overwritten
};

// One row of a box filter of fractional width: 2 * radius + 1 bytes, `step` apart, weigh `inner`,
// the two beyond them `outer`, in 24 fractional bits.
struct BoxRow {
  const uint8_t* in;
  int64_t step, bytes;
  int32_t radius;
  uint32_t inner, outer;
  uint8_t* out;
};

// Levels one by one: those below `from` get `add` more, up to 255, all others the bits `flip`
// turned; before, only the bits `keep` stay.
struct LevelMap {
  uint8_t keep;
  int32_t from;  // 0 … 256
  uint8_t add, flip;
};

struct Kernels {
  // Luma of each pixel as Pillow has it, in all three channels. in == out is allowed.
  void (*grey)(const uint8_t* in, int64_t pixels, uint8_t* out);
  // from + share * (to - from), cut off to 0 … 255 and to whole levels. out may be from or to.
  void (*blend)(const uint8_t* from, const uint8_t* to, float share, int64_t bytes, uint8_t* out);
  // grey + share * (byte - grey), likewise. In place.
  void (*stretch)(uint8_t grey, float share, int64_t bytes, uint8_t* pixels);
  void (*map)(const LevelMap& map, int64_t bytes, uint8_t* pixels);
  // Bytes of one row between its first and its last pixel: the mean of 3 × 3 pixels, of which the
  // middle one weighs 5. `in` is the first of them; rows above and below are `stride` away.
  void (*smooth)(const uint8_t* in, int64_t stride, int64_t bytes, uint8_t* out);
  void (*box)(const BoxRow& row);
  void (*bilinear)(const AffineRow& row);
  void (*bicubic)(const AffineRow& row);
};

const Kernels& kernels(Isa isa);

}  // namespace shoal::data::augment
