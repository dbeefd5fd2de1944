#pragma once
// Splits TFRecord bytes into records. A record consists of the length of its data (u64), the
// checksum of the length, the data, and the checksum of the data. Checksums are masked CRC-32C.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/byte_source.h"

namespace shoal::data {

constexpr size_t kTfRecordHead = 12, kTfRecordCheck = 4;  // bytes before and after the data

// Returns the length of the data, given the kTfRecordHead bytes of a record's head. Returns nothing
// if the head's checksum is wrong.
std::optional<uint64_t> tf_record_length(const uint8_t* head);
// Whether the bytes begin with the head of a record, with a correct checksum.
bool begins_tf_record(std::span<const uint8_t> bytes);
// Whether `data` has the checksum stored at `check` (4 bytes, unaligned).
bool tf_record_is_whole(std::span<const uint8_t> data, const uint8_t* check);

class TfRecordReader {
 public:
  explicit TfRecordReader(ByteSource& source) : source_(source) {}

  // Reads the head of the next record; the source then continues with the record's data. Returns
  // false at the end. Throws std::invalid_argument naming record and position if the head is
  // damaged or cut short.
  bool next();
  uint64_t data() const { return place_ + kTfRecordHead; }  // position of the record's data
  uint64_t length() const { return length_; }               // size of the record's data in bytes
  std::string name() const { return "record " + std::to_string(number_); }
  // Throws std::invalid_argument: "SOURCE:record NUMBER WHAT (at byte POSITION)".
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  ByteSource& source_;
  int64_t number_ = -1;
  uint64_t place_ = 0, length_ = 0;
};

}  // namespace shoal::data
