#pragma once
// Reads the wire format of protocol buffers in place, and skips unwanted fields without reading
// them. Source: protobuf.dev, "Encoding".

#include <array>
#include <cstdint>
#include <string>

#include "data/file.h"

namespace shoal::data {

struct Extent {
  uint64_t begin = 0, end = 0;  // offsets in the file
  uint64_t bytes() const { return end - begin; }
};

struct WireField {
  uint64_t number = 0;
  uint64_t value = 0;       // value, if the field is a varint
  Extent content;           // where the content is, for all other fields
  bool has_length = false;  // length-delimited: strings, bytes, messages, packed numbers
};

// Not thread-safe. All functions throw std::invalid_argument if the bytes are invalid.
class WireReader {
 public:
  explicit WireReader(const Readable& file) : file_(file) {}

  // Reads the first field of `rest` and removes it from `rest`. Returns false if `rest` is empty.
  bool next(Extent& rest, WireField& field);
  // Reads a variable-length integer at the beginning of `rest` and removes it from `rest`.
  uint64_t varint(Extent& rest);
  // Returns the bytes of `content`. Throws std::invalid_argument if there are more than 4096.
  std::string text(Extent content);

 private:
  uint8_t byte(Extent& rest);

  const Readable& file_;
  std::array<uint8_t, 512> buffer_{};
  uint64_t begin_ = 0, filled_ = 0;  // buffer_ has filled_ bytes of the file, from begin_ on
};

}  // namespace shoal::data
