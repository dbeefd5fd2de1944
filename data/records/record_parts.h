#pragma once
// The records of a RecordIO file, put together from their parts (record_io.h).

#include <cstdint>

#include "data/file.h"

namespace shoal::data {

// Before each part of a record.
struct PartHead {
  enum Kind : uint32_t { whole = 0, first = 1, middle = 2, last = 3 };
  static constexpr uint32_t kMagic = 0xced7230a;
  uint32_t magic = 0, word = 0;
  uint32_t kind() const { return word >> 29; }
  uint32_t bytes() const { return word & ((1u << 29) - 1); }
  uint64_t filled() const { return (uint64_t{bytes()} + 3) / 4 * 4; }
  bool begins() const { return kind() == whole || kind() == first; }
  bool ends() const { return kind() == whole || kind() == last; }
};
static_assert(sizeof(PartHead) == 8);

struct RecordExtent {
  uint64_t begin = 0, end = 0;  // of the record in the file, with heads and filling
  uint64_t bytes = 0;           // of the payload, magic numbers put back
  uint32_t parts = 1;
};

// The record that begins at `at`. Throws std::invalid_argument where it is damaged or cut short.
RecordExtent find_record(const File& file, uint64_t at, uint64_t file_bytes);

// Reads `bytes` bytes of the record's payload, from `from` on. Returns false when the file has
// become shorter or another one.
bool read_payload(const File& file, uint64_t record, uint64_t from, uint8_t* to, uint64_t bytes);

}  // namespace shoal::data
