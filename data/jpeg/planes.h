#pragma once
// The samples of a part of a JPEG, before and after they become RGB.

#include <cstdint>
#include <vector>

#include "data/jpeg/header.h"
#include "data/jpeg/kernels.h"

namespace shoal::data::jpeg {

// A rectangle of MCUs, [column, column_end) × [row, row_end).
struct McuBox {
  int64_t column = 0, column_end = 0, row = 0, row_end = 0;
};

// The MCUs that the pixels of `box` need, with what smooth upsampling looks at beyond them.
McuBox mcus_of(const Header& header, const Box& box);

// One object per thread; it keeps its memory.
class Planes {
 public:
  explicit Planes(const Kernels& kernels) : kernels_(kernels) {}

  // Memory for the samples of these MCUs.
  void begin(const Header& header, const McuBox& mcus);

  // Transforms `count` MCUs of a row, from `column` on. `coefficients`: theirs, block after block.
  void add(int64_t mcu_row, int64_t column, int64_t count, const int16_t* coefficients);

  // After the last row. Pixels are those of a decode of the whole image.
  void finish();

  // The samples of one component, in its own coordinates of the whole image.
  struct View {
    const uint8_t* first = nullptr;
    int64_t stride = 0, left = 0, top = 0;
    const uint8_t* at(int64_t x, int64_t y) const {
      return first + (y - top) * stride + (x - left);
    }
  };
  View view(int component);
  const Header& header() const { return *header_; }

  // RGB of `count` pixels from (x, y) on; up to 64 bytes behind them are overwritten.
  void rgb_row(int64_t x, int64_t y, int64_t count, uint8_t* out);

 private:
  struct Plane {
    std::vector<uint8_t> samples;
    int64_t stride = 0, left = 0, top = 0;  // of the sample at the plane's first place
    int16_t quantisation[64] = {};

    uint8_t* at(int64_t x, int64_t y);
  };
  const uint8_t* chroma_row(Plane& plane, int64_t x, int64_t y, int64_t count,
                            std::vector<uint8_t>& wide);

  const Kernels& kernels_;
  const Header* header_ = nullptr;
  McuBox mcus_;
  Plane planes_[3];
  std::vector<uint8_t> wide_[2];  // a row of chroma in luma's width
};

}  // namespace shoal::data::jpeg
