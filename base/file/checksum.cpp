#include "base/file/checksum.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace shoal {
namespace {

uint64_t mix(uint64_t state, uint64_t word) {
  state = (state ^ word) * 0xFF51AFD7ED558CCDull;
  return state ^ (state >> 32);
}

}  // namespace

void Checksum::update(const void* bytes, size_t size) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  size_t held = length_ % 8;
  length_ += size;
  if (held > 0) {
    const size_t take = std::min(size, 8 - held);
    std::memcpy(tail_ + held, at, take);
    at += take, size -= take, held += take;
    if (held < 8) return;
    uint64_t word;
    std::memcpy(&word, tail_, 8);
    state_ = mix(state_, word);
  }
  for (; size >= 8; at += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    state_ = mix(state_, word);
  }
  if (size > 0) std::memcpy(tail_, at, size);
}

uint64_t Checksum::value() const {
  uint64_t word = 0;
  std::memcpy(&word, tail_, length_ % 8);
  return mix(mix(state_, word), length_);
}

std::string Checksum::hex() const {
  return shoal::hex(value());
}

}  // namespace shoal
