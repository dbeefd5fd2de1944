#pragma once
// What stands before the pixels of a JPEG, for the kind that our own decoder reads: baseline or
// extended sequential Huffman coding with 8 bits, one interleaved scan, no restarts, grey or YCbCr,
// chroma as large as luma or halved in width or in both directions. That is nearly every
// photograph; the rest is libjpeg-turbo's. Source: ITU-T T.81, annexes B and C.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "data/image/geometry.h"

namespace shoal::data::jpeg {

// A Huffman table as the file has it.
struct HuffmanSpec {
  uint8_t counts[16] = {};    // codes of 1 … 16 bits
  uint8_t symbols[256] = {};  // in the order of their codes
  int total = 0;              // symbols; 0: not defined

  bool operator==(const HuffmanSpec&) const = default;
};

struct Component {
  int id = 0;
  int horizontal = 1, vertical = 1;      // blocks of one MCU
  int quantisation = 0, dc = 0, ac = 0;  // tables, 0 … 3
};

struct Header {
  Size size;
  int count = 0;  // components: 1 or 3
  Component components[3];
  int horizontal = 1, vertical = 1;   // blocks of luma in one MCU, each way
  uint16_t quantisation[4][64] = {};  // natural order
  HuffmanSpec dc[4], ac[4];
  size_t scan = 0;  // offset of the first entropy-coded byte

  int64_t mcu_width() const { return 8 * horizontal; }  // pixels
  int64_t mcu_height() const { return 8 * vertical; }   // pixels
  int64_t mcu_columns() const { return (size.width + mcu_width() - 1) / mcu_width(); }
  int64_t mcu_rows() const { return (size.height + mcu_height() - 1) / mcu_height(); }
  int blocks_per_mcu() const { return count == 1 ? 1 : horizontal * vertical + 2; }
};

// Nothing when the file is of another kind, or is not sound enough to be sure. Never reads outside
// of `bytes`.
std::optional<Header> read_header(std::span<const uint8_t> bytes);

// Place in a block (row * 8 + column) of the coefficients in the order they are coded.
extern const uint8_t kZigzag[64];

}  // namespace shoal::data::jpeg
