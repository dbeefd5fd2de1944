#pragma once
// What the payload of a RecordIO record is (record_io.h).

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/labels/label_text.h"

namespace shoal::data {

struct RecordPayload {
  enum class Kind { image, mxnet, other };  // mxnet: an image behind MXNet's head
  Kind kind = Kind::other;
  uint32_t skip = 0;           // bytes before the image
  int64_t number = kNoNumber;  // MXNet's label and number of the record
  uint64_t id = 0;
};
constexpr size_t kPayloadHead = 28;  // bytes that tell

// `head`: the first bytes, kPayloadHead of them or all; `bytes`: of the whole payload. Throws
// std::invalid_argument, to be put behind the record's name: several labels, or one that is no
// whole number from 0 on; neither where it is `unlabelled`.
RecordPayload examine_payload(std::span<const uint8_t> head, uint64_t bytes,
                              bool unlabelled = false);

// A payload of Kind::other as a label: a number, a name or JSON. Nothing: it is none.
std::optional<LabelText> parse_wrapped_label(const std::string& text);
constexpr uint64_t kLargestWrappedLabel = 64 * 1024;  // bytes

}  // namespace shoal::data
