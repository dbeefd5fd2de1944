#pragma once
// Reads the wire format of protocol buffers in place; unwanted fields are skipped unread. Source:
// protobuf.dev, "Encoding".

#include <array>
#include <cstdint>
#include <string>

#include "data/file.h"

namespace shoal::data {

struct Extent {
  uint64_t begin = 0, end = 0;  // in the file
  uint64_t bytes() const { return end - begin; }
};

struct WireField {
  uint64_t number = 0;
  uint64_t value = 0;       // of a varint
  Extent content;           // of a length-delimited field
  bool has_length = false;  // length-delimited: strings, bytes, messages, packed numbers
};

// For one thread.
class WireReader {
 public:
  explicit WireReader(const Readable& file) : file_(file) {}

  // Reads the first field of `rest` and removes it from there; returns false at the end. Throws
  // std::invalid_argument if the bytes are not fields.
  bool next(Extent& rest, WireField& field);
  uint64_t varint(Extent& rest);
  std::string text(Extent content);

 private:
  uint8_t byte(Extent& rest);

  const Readable& file_;
  std::array<uint8_t, 512> buffer_{};
  uint64_t begin_ = 0, filled_ = 0;  // of the buffer, in the file
};

}  // namespace shoal::data
