#pragma once
// Inner loops of the JPEG decoder, as plain functions over plain structs. Files compiled for
// different instruction sets include this header, so it must not contain templates or inline
// functions: the linker would keep one copy for all files, and the processor might not support it.
// The loops use integer arithmetic, so all instruction sets give the same bits.

#include <stdint.h>

#include "data/isa.h"

namespace shoal::data::jpeg {

// ---- entropy decoding (ITU-T T.81, annex F.2)

enum : int32_t {
  kLookBits = 11,    // bits per look-up: enough for most codes together with their values
  kReadAhead = 320,  // readable bytes needed after a stream's end: decoding a block may read them
};

// Position in a block (row * 8 + column) of each coefficient, in coding order.
constexpr uint8_t kZigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// A look-up table for the codes of one Huffman table. The next kLookBits bits of the stream are the
// index of an entry. An entry has these fields:
//   bits 0-5    length of code and value together, in bits
//   bits 8-15   how far the position in the block advances; 64 (kNoCode) for an invalid code
//   bits 16-31  the value, signed
// If bit 7 (kIncomplete) is set, the look-up did not cover the whole value. Then the length is 0,
// the advance (kUnseen) leads beyond any block's end, bits 16-23 contain the symbol and bits 24-31
// the length of its code (0: the code is longer than the look-up).
enum : uint32_t { kIncomplete = 0x80, kUnseen = 192, kNoCode = 64u << 8 };
struct CodeTable {
  uint32_t entry[1 << kLookBits];
  // For each code length: the last code (-1: none), and the number to add to a code to get the
  // index of its symbol in `symbols`.
  int32_t last[17], offset[17];
  uint8_t symbols[256];
};

// The tables of one block of an MCU. The blocks of an MCU form a ring in coding order.
struct BlockKind {
  const CodeTable *dc, *ac;
  const BlockKind* next;  // the last block points to the first one: the next MCU begins there
  int32_t component;
};

// The state of decoding a run of consecutive blocks of the bit stream. [at, end) are the unread
// bytes, without stuffing. kReadAhead bytes after `end` must be readable. The caller must set the
// coefficients [block, block_end) to zero. One more element after them must be writable.
struct Stream {
  const uint8_t *at, *end;
  uint64_t bits, count;        // the top `count` bits of `bits` are read, but not decoded yet
  int32_t predictor[3];        // DC predictor of each component
  const BlockKind* kind;       // of the current block
  uint32_t position;           // of the last decoded coefficient in the current block
  int16_t *block, *block_end;  // the current block, and the end of the run
  int32_t damaged;             // 1 after an invalid code, an overlong block or missing bytes
};

// ---- pixels

// Arguments for the blocks of one component in one row of MCUs.
struct BlockRow {
  const int16_t* coefficients;  // the component's first block; row by row, not in zigzag order
  int64_t mcu_step;             // number of coefficients from one MCU to the next
  int64_t mcus;
  int32_t horizontal, vertical;  // the component's blocks per MCU; stored row by row
  const int16_t* quantization;   // 64 factors, row by row
  uint8_t* out;                  // rows of 8 * horizontal * mcus samples
  int64_t stride;                // bytes
};

struct Kernels {
  // Starts a run: decodes the first block's DC coefficient.
  void (*begin)(Stream& stream);
  // Decodes to the end of the run or to the first damage.
  void (*decode)(Stream& stream);
  // Decodes two runs in one loop, so that the processor overlaps their instructions. Returns when
  // one of them ends or is damaged.
  void (*decode_two)(Stream& one, Stream& other);
  // Skips `blocks` blocks without storing coefficients. Needs no begin().
  void (*walk)(Stream& stream, int64_t blocks);
  // Copies the bytes [from, to), but stops at the first marker, and removes stuffing (ff 00 becomes
  // ff). Returns the end of the copy. Overwrites up to 64 bytes after it.
  uint8_t* (*unstuff)(const uint8_t* from, const uint8_t* to, uint8_t* out);

  // Dequantizes coefficients and applies the accurate integer IDCT of the Independent JPEG Group
  // ("islow").
  void (*transform)(const BlockRow& row);
  // Upsamples `count` chroma samples to twice the width with the triangle filter, which also reads
  // one sample before and one after them. `near` and `far`: the chroma rows nearest and second
  // nearest to the luma row; `far` is null if chroma is not subsampled vertically. Reads up to 64
  // bytes after the input and overwrites up to 64 bytes after the output.
  void (*upsample)(const uint8_t* near, const uint8_t* far, uint8_t* out, int64_t count);
  // Converts YCbCr (JFIF) to RGB. Reads up to 64 bytes after the input and overwrites up to 64
  // bytes after the output.
  void (*to_rgb)(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* out,
                 int64_t count);
  // Copies gray to all three channels. Reads up to 64 bytes after the input and overwrites up to 64
  // bytes after the output.
  void (*gray_to_rgb)(const uint8_t* y, uint8_t* out, int64_t count);
};

const Kernels& kernels(Isa isa);

}  // namespace shoal::data::jpeg
