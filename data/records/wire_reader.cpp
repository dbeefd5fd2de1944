#include "data/records/wire_reader.h"

#include <stdexcept>

namespace shoal::data {
namespace {

constexpr uint64_t kMaxTextBytes = 4096;
enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

[[noreturn]] void no_message() {
  throw std::invalid_argument("is not a protocol buffer of the expected kind");
}

}  // namespace

bool WireReader::next(Extent& rest, WireField& field) {
  if (rest.begin >= rest.end) return false;
  const uint64_t tag = varint(rest);
  field = {};
  field.number = tag >> 3;
  uint64_t bytes = 0;
  switch (tag & 7) {
    case kVarint:
      field.value = varint(rest);
      return true;
    case kFixed64:
      bytes = 8;
      break;
    case kFixed32:
      bytes = 4;
      break;
    case kLengthDelimited:
      bytes = varint(rest);
      field.has_length = true;
      break;
    default:
      no_message();
  }
  if (bytes > rest.bytes()) no_message();
  field.content = {rest.begin, rest.begin + bytes};
  rest.begin += bytes;
  return true;
}

uint64_t WireReader::varint(Extent& rest) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t part = byte(rest);
    value |= static_cast<uint64_t>(part & 0x7f) << shift;
    if (part < 0x80) return value;
  }
  no_message();
}

std::string WireReader::text(Extent content) {
  if (content.bytes() > kMaxTextBytes)
    throw std::invalid_argument("has a text of " + std::to_string(content.bytes()) +
                                " bytes, more than 4096");
  std::string text;
  while (content.begin < content.end) text += static_cast<char>(byte(content));
  return text;
}

uint8_t WireReader::byte(Extent& rest) {
  if (rest.begin >= rest.end) no_message();
  if (rest.begin < begin_ || rest.begin >= begin_ + filled_) {
    begin_ = rest.begin;
    filled_ = static_cast<uint64_t>(
        file_.read_at(begin_, buffer_.data(), static_cast<int64_t>(buffer_.size())));
    if (filled_ == 0) no_message();
  }
  return buffer_[rest.begin++ - begin_];
}

}  // namespace shoal::data
