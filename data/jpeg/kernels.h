#pragma once
// The inner loops of the JPEG decoder, as plain functions over plain structs: the same source is
// compiled for several instruction sets, so nothing here may be a template or an inline function
// that the linker could share. All of them work in integers and give the same bits everywhere.

#include <stdint.h>

#include "data/isa.h"

namespace shoal::data::jpeg {

// ---- entropy decoding (ITU-T T.81, annex F.2)

enum : int32_t {
  kLookBits = 11,    // a look-up sees so many bits: most codes together with their value
  kReadAhead = 320,  // readable bytes behind the end of a stream: one block may run into them
};

// What a look-up answers: bits 0-5 length of code and value, bits 8-15 how far the position in the
// block advances, bits 16-31 the value. With bit 7 it is not the whole story: length 0, an advance
// that leaves every block, and in bits 16-23 the symbol, in
// bits 24-31 the length of its code (0: not in sight).
enum : uint32_t { kIncomplete = 0x80, kUnseen = 192, kNoCode = 64u << 8 };
struct CodeTable {
  uint32_t entry[1 << kLookBits];
  // Canonical codes of each length: the last one (-1: none) and symbol index minus code.
  int32_t last[17], offset[17];
  uint8_t symbols[256];
};

// The blocks of one MCU, in their order.
struct BlockKind {
  const CodeTable *dc, *ac;
  const BlockKind* next;  // of the last one: the first of the next MCU
  int32_t component;
};

// A run of blocks in one stretch of the bit stream. `at` … `end`: bytes without stuffing,
// kReadAhead more are readable. The coefficients are zero at first and one more behind the last is
// writable.
struct Stream {
  const uint8_t *at, *end;
  uint64_t bits, count;        // `count` bits at the top of `bits` are not consumed yet
  int32_t predictor[3];        // DC of each component
  const BlockKind* kind;       // of the current block
  uint32_t position;           // in the current block, of the last coefficient
  int16_t *block, *block_end;  // the current block, and where the run ends
  int32_t damaged;             // a code that is none, or a block that is too long
};

// ---- pixels

// The blocks of one component in one row of MCUs.
struct BlockRow {
  const int16_t* coefficients;  // of the first MCU's first block of this component, natural order
  int64_t mcu_step;             // coefficients from one MCU to the next
  int64_t mcus;
  int32_t horizontal, vertical;  // blocks of the component in one MCU, rows of them one after other
  const int16_t* quantisation;   // 64
  uint8_t* out;                  // samples, 8 * horizontal * mcus a row
  int64_t stride;
};

struct Kernels {
  // Begins a run: takes the first block's DC.
  void (*begin)(Stream& stream);
  // Goes on to the end of the run, or to damage.
  void (*decode)(Stream& stream);
  // Two runs in one loop, so that each hides the other's waiting, until one of them is through.
  void (*decode_two)(Stream& one, Stream& other);
  // `blocks` blocks whose coefficients nobody needs. Needs no begin().
  void (*walk)(Stream& stream, int64_t blocks);
  // Copies bytes without their stuffing (ff 00 becomes ff) until the end or a marker; returns where
  // the copy ends. Up to 64 bytes behind it are overwritten.
  uint8_t* (*unstuff)(const uint8_t* from, const uint8_t* to, uint8_t* out);

  // Dequantises and transforms: the accurate integer IDCT of the Independent JPEG Group ("islow").
  void (*transform)(const BlockRow& row);
  // Chroma of half width to full width, `count` samples to twice as many, by the triangle filter;
  // one sample before and one behind are looked at. `far`: the row of chroma next nearest to the
  // row of luma, or null where chroma has all rows. Up to 64 bytes behind the output are
  // overwritten.
  void (*upsample)(const uint8_t* near, const uint8_t* far, uint8_t* out, int64_t count);
  // JFIF's YCbCr to RGB. Up to 64 bytes behind input and output are read and overwritten.
  void (*to_rgb)(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* out,
                 int64_t count);
  void (*grey_to_rgb)(const uint8_t* y, uint8_t* out, int64_t count);
};

const Kernels& kernels(Isa isa);

}  // namespace shoal::data::jpeg
