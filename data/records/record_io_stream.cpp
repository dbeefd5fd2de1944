#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "data/image/limits.h"
#include "data/records/record_parts.h"
#include "data/records/record_payload.h"
#include "data/stream/pipe_source.h"
#include "data/stream/record_stream.h"

namespace shoal::data {
namespace {

class RecordIoStream : public RecordStream {
 public:
  RecordIoStream(ByteSource& source, const StreamLabels& labels)
      : source_(source), labels_(labels) {}

  bool next(StreamImage& image) override {
    while (read_record()) {
      RecordPayload payload;
      try {
        payload = examine_payload(
            std::span(payload_).first(std::min(payload_.size(), kPayloadHead)), payload_.size());
      } catch (const std::invalid_argument& error) {
        refuse(error.what());
      }
      if (payload.kind == RecordPayload::Kind::mxnet) {
        give(image, payload_, {payload.number, ""}, payload.skip, number_);
        return true;
      }
      const bool complete =
          payload.kind == RecordPayload::Kind::image ? wrapped_image(image) : wrapped_label(image);
      if (complete) return true;
    }
    if (open_) refuse("is an image without a label", open_number_);
    if (waiting_) refuse("is a label without an image");
    return false;
  }

 private:
  [[noreturn]] void refuse(const std::string& what, std::optional<int64_t> number = {}) const {
    throw std::invalid_argument(source_.name() + ":record " +
                                std::to_string(number.value_or(number_)) + " " + what +
                                " (before byte " + std::to_string(source_.position()) + ")");
  }

  // The next record's payload, put together from its parts. False at the end.
  bool read_record() {
    payload_.clear();
    for (bool first = true;; first = false) {
      PartHead head;
      const size_t known = source_.read(&head, sizeof head);
      if (known == 0 && first) return false;
      number_ += first ? 1 : 0;
      if (known < sizeof head) refuse("is cut short");
      if (head.magic != PartHead::kMagic) refuse("is damaged: no record begins where one must");
      if (head.kind() > PartHead::last || first != head.begins())
        refuse("is damaged: the parts of a record do not fit");
      if (!first) append(&PartHead::kMagic, sizeof PartHead::kMagic);
      if (payload_.size() + head.bytes() > static_cast<size_t>(kMaxFileBytes))
        refuse("is too large for an image's record");
      if (!append_bytes(source_, head.bytes(), payload_)) refuse("is cut short");
      source_.skip(head.filled() - head.bytes());
      if (head.ends()) return true;
    }
  }

  void append(const void* bytes, size_t count) {
    const auto* const from = static_cast<const uint8_t*>(bytes);
    payload_.insert(payload_.end(), from, from + count);
  }

  void give(StreamImage& image, const std::vector<uint8_t>& payload, const LabelText& label,
            uint32_t skip, int64_t number) {
    try {
      image.label = labels_.label_of(label);
    } catch (const std::invalid_argument& error) {
      refuse(error.what(), number);
    }
    image.bytes.assign(payload.begin() + skip, payload.end());
    image.name = source_.name() + ":record " + std::to_string(number);
    image.damage.clear();
  }

  // A label that stands before belongs to this image, one behind it to the last.
  bool wrapped_image(StreamImage& image) {
    if (open_) refuse("is an image without a label", open_number_);
    if (waiting_) {
      give(image, payload_, *std::exchange(waiting_, std::nullopt), 0, number_);
      return true;
    }
    open_ = true;
    open_number_ = number_;
    open_image_ = payload_;
    return false;
  }

  bool wrapped_label(StreamImage& image) {
    const auto label = parse_wrapped_label({payload_.begin(), payload_.end()});
    if (!label || waiting_) refuse("is neither an image nor a label");
    if (!open_) {
      waiting_ = label;
      return false;
    }
    open_ = false;
    give(image, open_image_, *label, 0, open_number_);
    return true;
  }

  ByteSource& source_;
  const StreamLabels& labels_;
  std::vector<uint8_t> payload_;
  int64_t number_ = -1;
  bool open_ = false;  // open_image_ waits for its label
  int64_t open_number_ = 0;
  std::vector<uint8_t> open_image_;
  std::optional<LabelText> waiting_;  // the label of the next image
};

}  // namespace

std::unique_ptr<RecordStream> open_record_io_stream(ByteSource& source,
                                                    const StreamLabels& labels) {
  return std::make_unique<RecordIoStream>(source, labels);
}

}  // namespace shoal::data
