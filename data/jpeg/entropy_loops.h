// The entropy decoder's loops, included by one file per instruction set (see kernels.h).
//
// One step is one symbol: look it up, drop its bits, advance, store. An end of block advances by
// 128, whatever is no code by 64, so that the position after the last coefficient tells the three
// ways to end apart: 63 or at least 128 (good), 64 to 127 (damage).
#include <stddef.h>

#include "data/jpeg/header.h"
#include "data/jpeg/kernels.h"

namespace shoal::data::jpeg {
namespace {

#define SHOAL_INLINE inline __attribute__((always_inline))

// Where a coefficient goes: zigzag, and behind the block for what is beyond its end.
struct Places {
  uint8_t at[256];
};

constexpr Places make_places() {
  constexpr uint8_t zigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                  12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                  35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                  58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
  Places places{};
  for (int i = 0; i < 256; ++i) places.at[i] = i < 64 ? zigzag[i] : 64;
  return places;
}

constexpr Places kPlaces = make_places();

// The answer for what one look-up cannot see, in the same form. Bits: at least 27 at the top.
__attribute__((noinline)) uint32_t long_symbol(uint64_t bits, uint32_t entry,
                                               const CodeTable& table, bool dc) {
  uint32_t length = (entry >> 8) & 31, symbol = (entry >> 16) & 255;
  if (length == 0) {
    for (length = kLookBits + 1; length <= 16; ++length) {
      const auto code = static_cast<int32_t>(bits >> (64 - length));
      if (code <= table.last[length]) {
        symbol = table.symbols[(code + table.offset[length]) & 255];
        break;
      }
    }
    if (length > 16) return 16 | kNoCode;
  }
  const uint32_t size = dc ? symbol : symbol & 15, run = dc ? 0 : symbol >> 4;
  if (!dc && size == 0 && run != 15) return length | 128u << 8;
  int32_t value = 0;
  if (size > 0) {
    value = static_cast<int32_t>((bits << length) >> (64 - size));
    if (value < 1 << (size - 1)) value -= (1 << size) - 1;
  }
  return (length + size) | (run + 1) << 8 | static_cast<uint32_t>(value) << 16;
}

// A stream's state in registers.
struct Lane {
  const uint8_t* at;
  uint64_t bits, count;
  int16_t* block;
  const CodeTable* table;
  uint32_t position;
  int32_t kind;

  SHOAL_INLINE void load(const Stream& s, const BlockKind* kinds) {
    at = s.at, bits = s.bits, count = s.count, block = s.block;
    position = s.position, kind = s.kind, table = kinds[kind].ac;
  }
  SHOAL_INLINE void store(Stream& s) const {
    s.at = at, s.bits = bits, s.count = count, s.block = block;
    s.position = position, s.kind = kind;
  }
  SHOAL_INLINE void fill() {
    uint64_t next;
    __builtin_memcpy(&next, at, 8);
    bits |= __builtin_bswap64(next) >> count;
    at += (63 - count) >> 3;
    count |= 56;
  }
  SHOAL_INLINE void drop(uint32_t entry) {
    bits <<= entry & 63;
    count -= entry & 63;
  }
  SHOAL_INLINE uint32_t look(const CodeTable& codes, bool dc) {
    fill();
    uint32_t entry = codes.entry[bits >> (64 - kLookBits)];
    if (__builtin_expect(entry & kIncomplete, 0)) entry = long_symbol(bits, entry, codes, dc);
    drop(entry);
    return entry;
  }
  // The difference of a block's DC, added to its predictor. False: no code.
  SHOAL_INLINE bool take_dc(Stream& s, const BlockKind* kinds) {
    const BlockKind& now = kinds[kind];
    const uint32_t entry = look(*now.dc, true);
    int32_t& predictor = s.predictor[now.component];
    predictor = static_cast<int16_t>(predictor + static_cast<int16_t>(entry >> 16));
    block[0] = static_cast<int16_t>(predictor);
    table = now.ac;
    position = 0;
    return (entry & 0xff00) != kNoCode;
  }
  // One coefficient; at the end of a block on to the next. False: the run is through, or damaged.
  SHOAL_INLINE bool step(Stream& s, const BlockKind* kinds, int32_t kind_count) {
    const uint32_t entry = look(*table, false);
    position += (entry >> 8) & 255;
    block[kPlaces.at[position & 255]] = static_cast<int16_t>(entry >> 16);
    if (__builtin_expect(position < 63, 1)) return true;
    return next_block(s, kinds, kind_count);
  }
  SHOAL_INLINE bool next_block(Stream& s, const BlockKind* kinds, int32_t kind_count) {
    block[64] = 0;
    block += 64;
    kind = kind + 1 == kind_count ? 0 : kind + 1;
    // Reading ahead takes 8 bytes; a stream that goes on far behind its end is cut short.
    s.damaged |= position - 64 < 64u || at > s.end + 8;
    if (block == s.block_end || s.damaged) return false;
    s.damaged |= !take_dc(s, kinds);
    return true;
  }
};

void begin(Stream& s, const BlockKind* kinds, int32_t) {
  Lane lane;
  lane.load(s, kinds);
  s.damaged |= !lane.take_dc(s, kinds);
  lane.store(s);
}

void decode(Stream& s, const BlockKind* kinds, int32_t kind_count) {
  Lane lane;
  lane.load(s, kinds);
  while (lane.step(s, kinds, kind_count)) {
  }
  lane.store(s);
}

void decode_two(Stream& one, Stream& other, const BlockKind* kinds, int32_t kind_count) {
  Lane a, b;
  a.load(one, kinds);
  b.load(other, kinds);
  while (a.step(one, kinds, kind_count) && b.step(other, kinds, kind_count)) {
  }
  a.store(one);
  b.store(other);
}

void walk(Stream& s, const BlockKind* kinds, int32_t kind_count, int64_t blocks) {
  int16_t place = 0;
  s.block = &place;
  s.kind = 0;
  Lane lane;
  lane.load(s, kinds);
  for (; blocks > 0; --blocks) {
    s.damaged |= !lane.take_dc(s, kinds);
    while (lane.position < 63) lane.position += (lane.look(*lane.table, false) >> 8) & 255;
    s.damaged |= lane.position - 64 < 64u || lane.at > s.end + 8;
    if (s.damaged) break;
    lane.kind = lane.kind + 1 == kind_count ? 0 : lane.kind + 1;
  }
  lane.store(s);
  s.block = s.block_end = nullptr;
}

#undef SHOAL_INLINE

}  // namespace
}  // namespace shoal::data::jpeg
