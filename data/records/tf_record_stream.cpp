#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "data/errors.h"
#include "data/limits.h"
#include "data/records/tensor_image.h"
#include "data/records/tf_record.h"
#include "data/records/tf_record_reader.h"

namespace shoal::data {
namespace {

class TfRecordStream : public RecordStream {
 public:
  TfRecordStream(ByteSource& source, const StreamLabels& labels, const ExampleKeys& keys)
      : source_(source), reader_(source), labels_(labels), keys_(keys) {}

  bool next(StreamImage& image) override {
    if (!reader_.next()) return false;
    if (reader_.length() > static_cast<uint64_t>(kMaxFileBytes))
      reader_.refuse("is too large for an image's record");
    const auto length = static_cast<size_t>(reader_.length());
    record_.clear();
    if (!append_bytes(source_, length + kTfRecordCheck, record_)) reader_.refuse("is cut short");
    image.damage = tf_record_is_whole(std::span(record_).first(length), record_.data() + length)
                       ? ""
                       : "its record has a wrong checksum";
    try {
      take(length, image);
    } catch (const std::invalid_argument& error) {
      if (image.damage.empty()) reader_.refuse(error.what());
      image.bytes.clear();  // the record is damaged, so image and label cannot be found
      image.label = 0;
      image.name = name();
    }
    return true;
  }

 private:
  std::string name() const { return source_.name() + ":" + reader_.name(); }

  void take(size_t length, StreamImage& image) {
    const ReadableMemory memory({record_.data(), length});
    const Example example = read_example(memory, 0, length, keys_);
    image.label = image.damage.empty() ? label_of(example) : 0;
    image.name = name() + (example.name.empty() ? "" : " (" + example.name + ")");
    const auto* const begin = record_.data() + example.image;
    image.bytes.assign(begin, begin + example.image_bytes);
    if (keys_.raw == ExampleKeys::Raw::no || !image.damage.empty()) return;
    try {
      image.bytes = image_of_tensor(image.bytes, keys_);
    } catch (const DamagedImage& error) {
      image.damage = error.what();
    }
  }

  // If images have class names and numbers, the numbers are used only if no name is a known class,
  // as for files (catalogue.h). But a stream cannot be searched in advance, so the first class name
  // decides. Nor can it be searched for a label 0, so labels under the key image/class/label start
  // at 1, unless --tfrecord-keys sets label-offset.
  int32_t label_of(const Example& example) {
    if (!example.class_name.empty()) {
      const bool known = labels_.has(example.class_name);
      if (!uses_names_) uses_names_ = known || !example.number;
      if (*uses_names_) return labels_.label_of({kNoNumber, example.class_name});
      if (known || !example.number)
        throw std::invalid_argument("has the class '" + example.class_name +
                                    "', but the class of the first image is unknown: names and "
                                    "numbers are mixed; list all class names in --classes FILE");
    }
    const int64_t offset = keys_.first_label();
    if (*example.number < offset)
      throw std::invalid_argument("has the label " + std::to_string(*example.number) +
                                  ", which is below label-offset=" + std::to_string(offset) +
                                  "; set the first label with --tfrecord-keys label-offset=N");
    return labels_.label_of({*example.number - offset, ""});
  }

  ByteSource& source_;
  TfRecordReader reader_;
  const StreamLabels& labels_;
  const ExampleKeys& keys_;
  std::vector<uint8_t> record_;
  std::optional<bool> uses_names_;  // unset: no image with a name yet
};

}  // namespace

std::unique_ptr<RecordStream> open_tf_record_stream(ByteSource& source, const StreamLabels& labels,
                                                    const ExampleKeys& keys) {
  return std::make_unique<TfRecordStream>(source, labels, keys);
}

}  // namespace shoal::data
