#include "data/jpeg/code_table.h"

#include <algorithm>

namespace shoal::data::jpeg {

const CodeTable& CodeTableBuilder::build(const HuffmanSpec& spec) {
  if (spec.total > 0 && spec == spec_) return table_;
  spec_ = spec;
  std::copy(std::begin(spec.symbols), std::end(spec.symbols), table_.symbols);
  std::fill(std::begin(table_.entry), std::end(table_.entry), kIncomplete | kUnseen << 8);
  uint32_t code = 0;
  int index = 0;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    const int count = spec.counts[length - 1];
    table_.offset[length] = index - static_cast<int32_t>(code);
    for (int i = 0; i < count; ++i, ++index, ++code) add(length, code, spec.symbols[index]);
    table_.last[length] = count > 0 ? static_cast<int32_t>(code) - 1 : -1;
  }
  return table_;
}

// Fills the entries whose look-up bits start with `code`. If the look-up bits also include all bits
// of the coefficient's value, the entry contains the value.
void CodeTableBuilder::add(int length, uint32_t code, uint8_t symbol) {
  if (length > kLookBits) return;
  const uint32_t size = dc_ ? symbol : symbol & 15u, run = dc_ ? 0 : symbol >> 4;
  const bool end = !dc_ && size == 0 && run != 15;
  const uint32_t advance = end ? 128 : run + 1;
  const int free = kLookBits - length, rest = free - static_cast<int>(size);
  uint32_t* const entries = table_.entry + (code << free);
  if (rest < 0) {
    std::fill_n(
        entries, 1 << free,
        kIncomplete | kUnseen << 8 | uint32_t{symbol} << 16 | static_cast<uint32_t>(length) << 24);
    return;
  }
  for (int32_t bits = 0; bits < 1 << size; ++bits) {
    const bool negative = size > 0 && bits < 1 << (size - 1);
    const int32_t value = negative ? bits - (1 << size) + 1 : bits;
    const uint32_t entry =
        (static_cast<uint32_t>(length) + size) | advance << 8 | static_cast<uint32_t>(value) << 16;
    std::fill_n(entries + (bits << rest), 1 << rest, entry);
  }
}

}  // namespace shoal::data::jpeg
