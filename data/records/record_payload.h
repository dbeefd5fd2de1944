#pragma once
// Recognises the payload of a RecordIO record (record_io.h).

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
  int64_t number = kNoNumber;  // MXNet: the label
  uint64_t id = 0;             // MXNet: the number of the record
};
constexpr size_t kPayloadHead = 28;  // bytes needed to recognise the payload

// `head`: the first kPayloadHead bytes, or all; `bytes`: size of the whole payload. Unless
// `unlabelled`, throws std::invalid_argument for several labels and for a label that is not a whole
// number >= 0, with a message to follow the name of the record.
RecordPayload examine_payload(std::span<const uint8_t> head, uint64_t bytes,
                              bool unlabelled = false);

// Parses a payload of Kind::other as a label: a number, a name or JSON. Nothing if it is none.
std::optional<LabelText> parse_wrapped_label(const std::string& text);
constexpr uint64_t kLargestWrappedLabel = 64 * 1024;  // bytes

}  // namespace shoal::data
