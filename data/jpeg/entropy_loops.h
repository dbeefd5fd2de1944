// Loops of the entropy decoder, included by one file per instruction set (see kernels.h).
//
// step() decodes one symbol: it looks the symbol up, drops its bits, advances the position in the
// block and stores the coefficient. An end-of-block symbol advances by 128, an invalid code by 64.
// So the position after a block shows how it ended: a position of 63 or at least 128 means success,
// 64 to 127 means damage.
#include <stddef.h>

#include "data/jpeg/kernels.h"

namespace shoal::data::jpeg {
namespace {

#define SHOAL_INLINE inline __attribute__((always_inline))

// Maps positions in coding order to elements of the block (kZigzag). Positions of 64 and above
// map to the element after the block.
struct Places {
  uint8_t at[256];
};

constexpr Places make_places() {
  Places places{};
  for (int i = 0; i < 256; ++i) places.at[i] = i < 64 ? kZigzag[i] : 64;
  return places;
}

constexpr Places kPlaces = make_places();

// Decodes a symbol whose entry is incomplete (kIncomplete). Returns a complete entry in the format
// of CodeTable::entry. `bits` must contain at least 27 valid bits: 16 for the code and 11 for the
// value.
__attribute__((noinline)) uint32_t long_symbol(uint64_t bits, uint32_t entry,
                                               const CodeTable& table, bool dc) {
  uint32_t length = entry >> 24, symbol = (entry >> 16) & 255;
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

// Number of symbols per refill. 56 bits are enough for kPerFill symbols of kLookBits bits and one
// more look-up.
constexpr int kPerFill = 4;
static_assert((kPerFill + 1) * kLookBits <= 56);

// The state of a Stream, held in registers.
struct Lane {
  const uint8_t* at;
  uint64_t bits, count;
  int16_t* block;
  const CodeTable* table;
  uint32_t position;

  SHOAL_INLINE void load(const Stream& s) {
    at = s.at, bits = s.bits, count = s.count, block = s.block;
    position = s.position, table = s.kind->ac;
  }
  SHOAL_INLINE void store(Stream& s) const {
    s.at = at, s.bits = bits, s.count = count & 63, s.block = block;
    s.position = position;
  }
  // Refills `bits` to at least 56 valid bits. Only the low six bits of `count` are significant.
  SHOAL_INLINE void fill() {
    uint64_t next;
    __builtin_memcpy(&next, at, 8);
    bits |= __builtin_bswap64(next) >> (count & 63);
    at += (~count & 63) >> 3;
    count |= 56;
  }
  SHOAL_INLINE void drop(uint32_t entry) {
    bits <<= entry & 63;
    count -= entry;
  }
  SHOAL_INLINE uint32_t entry_of(const CodeTable& codes) const {
    return codes.entry[bits >> (64 - kLookBits)];
  }
  // Decodes a symbol whose entry is incomplete and drops its bits. Leaves at least 56 bits in
  // `bits`.
  SHOAL_INLINE uint32_t complete(uint32_t entry, const CodeTable& codes, bool dc) {
    fill();
    entry = long_symbol(bits, entry, codes, dc);
    drop(entry);
    fill();
    return entry;
  }
  // Decodes a block's DC difference and adds it to the predictor. Leaves at least 56 bits in
  // `bits`. Returns false for an invalid code.
  SHOAL_INLINE bool take_dc(Stream& s) {
    const BlockKind& now = *s.kind;
    uint32_t entry = entry_of(*now.dc);
    if (__builtin_expect(entry & kIncomplete, 0)) {
      entry = complete(entry, *now.dc, true);
    } else {
      drop(entry);
      fill();
    }
    int32_t& predictor = s.predictor[now.component];
    predictor = static_cast<int16_t>(predictor + static_cast<int16_t>(entry >> 16));
    block[0] = static_cast<int16_t>(predictor);
    table = now.ac;
    position = 0;
    return (entry & 0xff00) != kNoCode;
  }
  // Decodes one coefficient. At the end of a block, starts the next block. Returns false at the end
  // of the run (Stream::block_end) or after damage.
  SHOAL_INLINE bool step(Stream& s) {
    const uint32_t entry = entry_of(*table);
    drop(entry);
    position += (entry >> 8) & 255;
    block[kPlaces.at[position]] = static_cast<int16_t>(entry >> 16);
    if (__builtin_expect(position < 63, 1)) return true;
    if ((entry & kIncomplete) && store_long(entry)) return true;
    return next_block(s);
  }
  // Decodes a coefficient whose entry in step() was incomplete. Returns false at the end of the
  // block.
  SHOAL_INLINE bool store_long(uint32_t entry) {
    entry = complete(entry, *table, false);
    position += ((entry >> 8) & 255) - kUnseen;
    block[kPlaces.at[position]] = static_cast<int16_t>(entry >> 16);
    return position < 63;
  }
  // Like step(), but does not store the coefficient or start the next block.
  SHOAL_INLINE void skip() {
    uint32_t entry = entry_of(*table);
    if (__builtin_expect(entry & kIncomplete, 0))
      entry = complete(entry, *table, false);
    else
      drop(entry);
    position += (entry >> 8) & 255;
  }
  // Whether the block is damaged or the stream is truncated. fill() reads up to 8 bytes ahead, so
  // the stream is truncated if `at` is more than 8 bytes beyond its end.
  SHOAL_INLINE bool broken(const Stream& s) const { return position - 64 < 64u || at > s.end + 8; }
  SHOAL_INLINE bool next_block(Stream& s) {
    block[64] = 0;
    block += 64;
    s.kind = s.kind->next;
    if (__builtin_expect(broken(s), 0)) return s.damaged = 1, false;
    if (block == s.block_end) return false;
    if (__builtin_expect(!take_dc(s), 0)) return s.damaged = 1, false;
    return true;
  }
};

// The loops below have kPerFill steps after each refill.
static_assert(kPerFill == 4);
SHOAL_INLINE void run(Lane& lane, Stream& s) {
  for (;;) {
    lane.fill();
    if (!lane.step(s) || !lane.step(s) || !lane.step(s) || !lane.step(s)) return;
  }
}

SHOAL_INLINE void run_two(Lane& a, Stream& one, Lane& b, Stream& other) {
  for (;;) {
    a.fill();
    b.fill();
    if (!a.step(one) || !b.step(other)) return;
    if (!a.step(one) || !b.step(other)) return;
    if (!a.step(one) || !b.step(other)) return;
    if (!a.step(one) || !b.step(other)) return;
  }
}

void begin(Stream& s) {
  Lane lane;
  lane.load(s);
  lane.fill();
  s.damaged |= !lane.take_dc(s);
  lane.store(s);
}

void decode(Stream& s) {
  Lane lane;
  lane.load(s);
  run(lane, s);
  lane.store(s);
}

void decode_two(Stream& one, Stream& other) {
  Lane a, b;
  a.load(one);
  b.load(other);
  run_two(a, one, b, other);
  a.store(one);
  b.store(other);
}

void walk(Stream& s, int64_t blocks) {
  int16_t place = 0;
  s.block = &place;
  Lane lane;
  lane.load(s);
  for (; blocks > 0; --blocks) {
    lane.fill();
    s.damaged |= !lane.take_dc(s);
    while (lane.position < 63) {
      lane.fill();
      for (int i = 0; i < kPerFill && lane.position < 63; ++i) lane.skip();
    }
    s.damaged |= lane.broken(s);
    if (s.damaged) break;
    s.kind = s.kind->next;
  }
  lane.store(s);
  s.block = s.block_end = nullptr;
}

#undef SHOAL_INLINE

}  // namespace
}  // namespace shoal::data::jpeg
