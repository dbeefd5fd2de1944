#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "data/records/record_io.h"
#include "data/records/record_parts.h"
#include "data/records/record_payload.h"

namespace shoal::data {
namespace {

class RecordIoStream : public RecordStream {
 public:
  RecordIoStream(ByteSource& source, const StreamLabels& labels)
      : source_(source), reader_(source), labels_(labels) {}

  bool next(StreamImage& image) override {
    for (RecordExtent record; reader_.next(record, &payload_);) {
      const RecordPayload payload = examined();
      if (payload.kind == RecordPayload::Kind::mxnet) {
        give(image, payload_, {payload.number, ""}, payload.skip, reader_.number());
        return true;
      }
      const bool complete =
          payload.kind == RecordPayload::Kind::image ? wrapped_image(image) : wrapped_label(image);
      if (complete) return true;
    }
    if (pairing_.image_waits()) reader_.refuse(image_number_, "is an image without a label");
    if (pairing_.label_waits()) reader_.refuse("is a label without an image");
    return false;
  }

 private:
  RecordPayload examined() const {
    try {
      const size_t known = std::min(payload_.size(), kPayloadHead);
      return examine_payload(std::span(payload_).first(known), payload_.size());
    } catch (const std::invalid_argument& error) {
      reader_.refuse(error.what());
    }
  }

  void give(StreamImage& image, const std::vector<uint8_t>& payload, const LabelText& label,
            uint32_t skip, int64_t number) {
    try {
      image.label = labels_.label_of(label);
    } catch (const std::invalid_argument& error) {
      reader_.refuse(number, error.what());
    }
    image.bytes.assign(payload.begin() + skip, payload.end());
    image.name = source_.name() + ":record " + std::to_string(number);
    image.damage.clear();
  }

  // If the label came before its image, completes the image and returns true. Otherwise keeps the
  // image until its label comes.
  bool wrapped_image(StreamImage& image) {
    if (pairing_.image_waits()) reader_.refuse(image_number_, "is an image without a label");
    if (const auto label = pairing_.image()) {
      give(image, payload_, *label, 0, reader_.number());
      return true;
    }
    image_number_ = reader_.number();
    image_ = payload_;
    return false;
  }

  // If an image waits for this label, completes the image and returns true. Otherwise keeps the
  // label for the next image.
  bool wrapped_label(StreamImage& image) {
    const auto label = parse_wrapped_label({payload_.begin(), payload_.end()});
    if (!label) reader_.refuse("is neither an image nor a label");
    if (pairing_.label_waits()) reader_.refuse("is a second label for one image");
    if (!pairing_.label(*label)) return false;
    give(image, image_, *label, 0, image_number_);
    return true;
  }

  ByteSource& source_;
  RecordIoReader reader_;
  const StreamLabels& labels_;
  LabelPairing pairing_;
  std::vector<uint8_t> payload_;
  std::vector<uint8_t> image_;  // the image that waits for its label
  int64_t image_number_ = 0;
};

}  // namespace

std::unique_ptr<RecordStream> open_record_io_stream(ByteSource& source,
                                                    const StreamLabels& labels) {
  return std::make_unique<RecordIoStream>(source, labels);
}

}  // namespace shoal::data
