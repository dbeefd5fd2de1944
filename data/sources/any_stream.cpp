#include "data/sources/any_stream.h"

#include <stdexcept>

#include "data/container/inflate.h"
#include "data/sources/formats.h"

namespace shoal::data {
namespace {

// Recognizes the format at the first call of next().
class AnyStream : public RecordStream {
 public:
  AnyStream(ByteSource& source, const StreamLabels& labels, const ExampleKeys& keys)
      : source_(source), labels_(labels), keys_(keys) {}

  bool next(StreamImage& image) override {
    if (!images_ && !recognize()) return false;
    return images_->next(image);
  }

 private:
  bool recognize() {
    const std::vector<uint8_t>& head = source_.peek(kFormatHead);
    if (head.empty()) return false;
    for (const RecordFormat& format : record_formats()) {
      if (!format.begins(head)) continue;
      if (format.open_stream == nullptr) refuse_format(source_.name(), &format);
      images_ = format.open_stream(source_, labels_, keys_);
      return true;
    }
    if (is_compressed(head))
      throw std::invalid_argument(
          source_.name() +
          " is compressed; unpack it before it is written to the pipe (on SageMaker: set the "
          "channel's CompressionType to Gzip)");
    refuse_format(source_.name());
  }

  PeekSource source_;
  const StreamLabels& labels_;
  const ExampleKeys& keys_;
  std::unique_ptr<RecordStream> images_;
};

}  // namespace

std::unique_ptr<RecordStream> open_record_stream(ByteSource& source, const StreamLabels& labels,
                                                 const ExampleKeys& keys) {
  return std::make_unique<AnyStream>(source, labels, keys);
}

}  // namespace shoal::data
