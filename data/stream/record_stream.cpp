#include "data/stream/record_stream.h"

#include <cstring>
#include <stdexcept>
#include <utility>

#include "data/records/record_parts.h"
#include "data/records/tf_record.h"
#include "data/stream/pipe_source.h"
#include "data/tar/inflate.h"
#include "data/tar/tar_walker.h"

namespace shoal::data {
namespace {

bool begins_tf_record(const std::vector<uint8_t>& head) {
  return head.size() >= kTfRecordHead && tf_record_length(head.data());
}

bool begins_record_io(const std::vector<uint8_t>& head) {
  uint32_t magic = 0;
  if (head.size() < sizeof(PartHead)) return false;
  std::memcpy(&magic, head.data(), sizeof magic);
  return magic == PartHead::kMagic;
}

// Looks at the first bytes when the first image is asked for.
class AnyStream : public RecordStream {
 public:
  AnyStream(ByteSource& source, const StreamLabels& labels, const ExampleKeys& keys)
      : source_(source), labels_(labels), keys_(keys) {}

  bool next(StreamImage& image) override {
    if (!kind_ && !recognise_kind()) return false;
    return kind_->next(image);
  }

 private:
  bool recognise_kind() {
    const std::vector<uint8_t>& head = source_.peek(kTarBlock);
    if (head.empty()) return false;
    if (begins_tar(head))
      kind_ = open_tar_stream(source_, labels_);
    else if (begins_record_io(head))
      kind_ = open_record_io_stream(source_, labels_);
    else if (begins_tf_record(head))
      kind_ = open_tf_record_stream(source_, labels_, keys_);
    else if (is_compressed(head))
      throw std::invalid_argument(source_.name() +
                                  " is compressed; have it unpacked before the pipe (on SageMaker: "
                                  "the channel's CompressionType Gzip)");
    else
      throw std::invalid_argument(source_.name() +
                                  " holds nothing that can be read: a tar, TFRecord, RecordIO");
    return true;
  }

  PeekSource source_;
  const StreamLabels& labels_;
  const ExampleKeys& keys_;
  std::unique_ptr<RecordStream> kind_;
};

}  // namespace

std::unique_ptr<RecordStream> open_stream(ByteSource& source, const StreamLabels& labels,
                                          const ExampleKeys& keys) {
  return std::make_unique<AnyStream>(source, labels, keys);
}

}  // namespace shoal::data
