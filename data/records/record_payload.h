#pragma once
// Recognizes the payload of a RecordIO record (record_io.h).

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/container/label_text.h"

namespace shoal::data {

struct RecordPayload {
  enum class Kind { image, mxnet, other };  // mxnet: an image after MXNet's header
  Kind kind = Kind::other;
  uint32_t skip = 0;           // bytes before the image
  int64_t number = kNoNumber;  // the label in MXNet's header
  uint64_t id = 0;             // the id in MXNet's header
};
constexpr size_t kPayloadHead = 28;  // bytes needed to recognize the payload

// Finds out what a payload contains. `head`: its first kPayloadHead bytes, or all if it is shorter.
// `bytes`: size of the whole payload. Unless `unlabeled` is set, throws std::invalid_argument for
// several labels and for a label that is not a whole number >= 0. The message begins with a verb,
// so that the caller can prepend the record's name.
RecordPayload examine_payload(std::span<const uint8_t> head, uint64_t bytes,
                              bool unlabeled = false);

// Parses a payload of Kind::other as a label: a number, a name or JSON. Returns nothing if it is
// not a label.
std::optional<LabelText> parse_wrapped_label(const std::string& text);
constexpr uint64_t kMaxWrappedLabel = 64 * 1024;  // bytes

}  // namespace shoal::data
