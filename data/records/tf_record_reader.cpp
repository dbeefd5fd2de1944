#include "data/records/tf_record_reader.h"

#include <array>
#include <cstring>
#include <stdexcept>

#include "base/file/crc32c.h"

namespace shoal::data {

std::optional<uint64_t> tf_record_length(const uint8_t* head) {
  uint64_t length = 0;
  uint32_t check = 0;
  std::memcpy(&length, head, sizeof length);
  std::memcpy(&check, head + sizeof length, sizeof check);
  if (masked_crc(crc32c(0, head, sizeof length)) != check) return std::nullopt;
  return length;
}

bool begins_tf_record(std::span<const uint8_t> bytes) {
  return bytes.size() >= kTfRecordHead && tf_record_length(bytes.data());
}

bool tf_record_is_whole(std::span<const uint8_t> data, const uint8_t* check) {
  uint32_t stored = 0;
  std::memcpy(&stored, check, sizeof stored);
  return masked_crc(crc32c(0, data.data(), data.size())) == stored;
}

bool TfRecordReader::next() {
  place_ = source_.position();
  std::array<uint8_t, kTfRecordHead> head{};
  const size_t known = source_.read(head.data(), head.size());
  if (known == 0) return false;
  ++number_;
  if (known < head.size()) refuse("is cut short");
  const auto length = tf_record_length(head.data());
  if (!length) refuse("is damaged: its length has a wrong checksum");
  length_ = *length;
  return true;
}

void TfRecordReader::refuse(const std::string& what) const {
  throw std::invalid_argument(source_.name() + ":" + name() + " " + what + " (at byte " +
                              std::to_string(place_) + ")");
}

}  // namespace shoal::data
