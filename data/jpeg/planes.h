#pragma once
// Decoded planes (Y, Cb, Cr) of a part of a JPEG, and their conversion to RGB.

#include <cstdint>
#include <vector>

#include "data/jpeg/header.h"
#include "data/jpeg/kernels.h"

namespace shoal::data::jpeg {

// A rectangle of MCUs, [column, column_end) × [row, row_end).
struct McuBox {
  int64_t column = 0, column_end = 0, row = 0, row_end = 0;
};

// Returns the MCUs that contain the pixels of `box` and the neighboring pixels that smooth
// upsampling reads.
McuBox mcus_of(const Header& header, const Box& box);

// Use one object per thread; it reuses its memory.
class Planes {
 public:
  explicit Planes(const Kernels& kernels) : kernels_(kernels) {}

  // Starts an image: provides memory for the samples of `mcus`. `header` must stay valid until the
  // next begin().
  void begin(const Header& header, const McuBox& mcus);

  // Dequantizes and transforms (IDCT) `count` MCUs of row `mcu_row`, from MCU `column` on.
  // `coefficients`: 64 per block, with the blocks in coding order.
  void add(int64_t mcu_row, int64_t column, int64_t count, const int16_t* coefficients);

  // Call after the last add(). For the box that was given to mcus_of(), rgb_row() then writes the
  // same pixels as if the whole image had been decoded.
  void finish();

  // The samples of one component. Coordinates are in samples of this component, relative to the
  // whole image.
  struct View {
    const uint8_t* first = nullptr;
    int64_t stride = 0, left = 0, top = 0;
    const uint8_t* at(int64_t x, int64_t y) const {
      return first + (y - top) * stride + (x - left);
    }
  };
  View view(int component);
  const Header& header() const { return *header_; }

  // Writes `count` RGB pixels, from (x, y) to the right, to `out`. Overwrites up to 64 bytes after
  // them.
  void rgb_row(int64_t x, int64_t y, int64_t count, uint8_t* out);

 private:
  struct Plane {
    std::vector<uint8_t> samples;
    int64_t stride = 0, left = 0, top = 0;  // (left, top): the plane's first sample
    int16_t quantization[64] = {};

    uint8_t* at(int64_t x, int64_t y);
  };
  const uint8_t* chroma_row(Plane& plane, int64_t x, int64_t y, int64_t count,
                            std::vector<uint8_t>& wide);

  const Kernels& kernels_;
  const Header* header_ = nullptr;
  McuBox mcus_;
  Plane planes_[3];
  std::vector<uint8_t> wide_[2];  // one row of each chroma plane, upsampled to the width of luma
};

}  // namespace shoal::data::jpeg
