#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "data/image/limits.h"
#include "data/records/crc32c.h"
#include "data/records/tensor_image.h"
#include "data/records/tf_record.h"
#include "data/stream/pipe_source.h"
#include "data/stream/record_stream.h"

namespace shoal::data {
namespace {

class TfRecordStream : public RecordStream {
 public:
  TfRecordStream(ByteSource& source, const StreamLabels& labels, const ExampleKeys& keys)
      : source_(source), labels_(labels), keys_(keys) {}

  bool next(StreamImage& image) override {
    const uint64_t place = source_.position();
    std::array<uint8_t, kTfRecordHead> head{};
    const size_t known = source_.read(head.data(), head.size());
    if (known == 0) return false;
    ++number_;
    if (known < head.size()) refuse("is cut short", place);
    const auto length = tf_record_length(head.data());
    if (!length) refuse("is damaged: its length has a wrong checksum", place);
    if (*length > static_cast<uint64_t>(kMaxFileBytes))
      refuse("is too large for an image's record", place);
    record_.clear();
    if (!append_bytes(source_, *length + kTfRecordCheck, record_)) refuse("is cut short", place);
    uint32_t check = 0;
    std::memcpy(&check, record_.data() + *length, sizeof check);
    image.damage = masked_crc(crc32c(0, record_.data(), static_cast<size_t>(*length))) == check
                       ? ""
                       : "its record does not have the checksum it was written with";
    try {
      take(static_cast<size_t>(*length), image);
    } catch (const std::invalid_argument& error) {
      if (image.damage.empty()) refuse(error.what(), place);
      image.bytes.clear();  // its label is not known either
      image.label = 0;
      image.name = name();
    }
    return true;
  }

 private:
  std::string name() const { return source_.name() + ":record " + std::to_string(number_); }

  [[noreturn]] void refuse(const std::string& what, uint64_t place) const {
    throw std::invalid_argument(name() + " " + what + " (at byte " + std::to_string(place) + ")");
  }

  void take(size_t length, StreamImage& image) {
    const ReadableMemory memory({record_.data(), length});
    const Example example = read_example(memory, 0, length, keys_);
    image.label = label_of(example);
    image.name = name() + (example.name.empty() ? "" : " (" + example.name + ")");
    const auto* const begin = record_.data() + example.image;
    image.bytes.assign(begin, begin + example.image_bytes);
    if (keys_.raw != ExampleKeys::Raw::no && image.damage.empty())
      image.bytes = image_of_tensor(image.bytes, keys_);
  }

  // What the first class has as its number cannot be looked for in a stream: it is 1 under
  // ImageNet's key unless --tfrecord-keys says otherwise.
  int32_t label_of(const Example& example) const {
    if (!example.class_name.empty()) {
      try {
        return labels_.label_of({kNoNumber, example.class_name});
      } catch (const std::invalid_argument&) {
        if (!example.number) throw;
      }
    }
    const int64_t usual = keys_.label == ExampleKeys().label ? 1 : 0;
    const int64_t offset = keys_.label_offset.value_or(usual);
    if (*example.number < offset)
      throw std::invalid_argument("has the label " + std::to_string(*example.number) +
                                  ", which lies before label-offset=" + std::to_string(offset) +
                                  "; say where labels begin with --tfrecord-keys label-offset=N");
    return labels_.label_of({*example.number - offset, ""});
  }

  ByteSource& source_;
  const StreamLabels& labels_;
  const ExampleKeys& keys_;
  int64_t number_ = -1;
  std::vector<uint8_t> record_;
};

}  // namespace

std::unique_ptr<RecordStream> open_tf_record_stream(ByteSource& source, const StreamLabels& labels,
                                                    const ExampleKeys& keys) {
  return std::make_unique<TfRecordStream>(source, labels, keys);
}

}  // namespace shoal::data
