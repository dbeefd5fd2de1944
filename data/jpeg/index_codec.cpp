#include "data/jpeg/index_codec.h"

namespace shoal::data::jpeg {
namespace {

void put(std::string& out, uint64_t value) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

// Zigzag encoding: small numbers of either sign become small unsigned numbers.
uint64_t folded(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
int64_t unfolded(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

bool take(std::span<const uint8_t>& from, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 63 && !from.empty(); shift += 7) {
    const uint8_t byte = from.front();
    from = from.subspan(1);
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

}  // namespace

std::string pack_index(const SeekIndex& index) {
  std::string out;
  put(out, index.size());
  SeekPoint before;
  for (const SeekPoint& point : index) {
    const auto bits = [](const SeekPoint& p) { return uint64_t{p.byte} * 8 + p.bit; };
    put(out, bits(point) - bits(before));
    for (int i = 0; i < 3; ++i) put(out, folded(point.predictor[i] - before.predictor[i]));
    before = point;
  }
  return out;
}

bool unpack_index(std::span<const uint8_t> packed, SeekIndex& index) {
  index.clear();
  uint64_t count = 0, value = 0, bits = 0;
  if (!take(packed, count) || count > packed.size()) return false;
  SeekPoint point;
  for (uint64_t i = 0; i < count; ++i) {
    if (!take(packed, value) || value > UINT32_MAX) return false;
    bits += value;
    if (bits / 8 > UINT32_MAX) return false;
    point.byte = static_cast<uint32_t>(bits / 8);
    point.bit = static_cast<uint16_t>(bits % 8);
    for (int16_t& predictor : point.predictor) {
      if (!take(packed, value)) return false;
      predictor = static_cast<int16_t>(predictor + unfolded(value));
    }
    index.push_back(point);
  }
  return packed.empty();
}

}  // namespace shoal::data::jpeg
