#pragma once
// Parses the header of the JPEGs that shoal's own decoder reads: baseline or extended sequential
// Huffman coding, 8 bits, one interleaved scan, no restart markers, gray or YCbCr, chroma
// subsampling 4:4:4, 4:2:2 or 4:2:0. Nearly all photographs are of this kind. libjpeg-turbo decodes
// all other JPEGs. Source: ITU-T T.81, annexes B and C.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "data/geometry.h"

namespace shoal::data::jpeg {

// A Huffman table as stored in the file.
struct HuffmanSpec {
  uint8_t counts[16] = {};    // counts[n - 1]: number of codes with n bits
  uint8_t symbols[256] = {};  // in code order
  int total = 0;              // number of symbols; 0: the table is not defined

  bool operator==(const HuffmanSpec&) const = default;
};

struct Component {
  int id = 0;
  int horizontal = 1, vertical = 1;      // blocks in one MCU (minimum coded unit)
  int quantization = 0, dc = 0, ac = 0;  // table numbers, 0 … 3
};

struct Header {
  Size size;
  int count = 0;  // number of components: 1 or 3
  Component components[3];
  int horizontal = 1, vertical = 1;   // luma blocks in one MCU
  uint16_t quantization[4][64] = {};  // tables, row by row, not in zigzag order
  HuffmanSpec dc[4], ac[4];
  size_t scan = 0;  // offset of the first entropy-coded byte

  int64_t mcu_width() const { return 8 * horizontal; }  // pixels
  int64_t mcu_height() const { return 8 * vertical; }   // pixels
  int64_t mcu_columns() const { return (size.width + mcu_width() - 1) / mcu_width(); }
  int64_t mcu_rows() const { return (size.height + mcu_height() - 1) / mcu_height(); }
  int blocks_per_mcu() const { return count == 1 ? 1 : horizontal * vertical + 2; }
};

// Returns nothing for other kinds of JPEG and for damaged headers. Never reads outside `bytes`.
std::optional<Header> read_header(std::span<const uint8_t> bytes);

}  // namespace shoal::data::jpeg
