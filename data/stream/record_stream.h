#pragma once
// Images with their labels, one after the other, from bytes that are read once.
//
//   tar        WebDataset samples (tar/webdataset.h); images in class folders, or in class tars
//              inside a tar; images whose names begin with their class (n01440764_10026.JPEG). Tars
//              may follow one another, as the objects in a pipe do.
//   TFRecord   tf.Examples (records/tf_record.h)
//   RecordIO   MXNet's image records; images and labels wrapped by SageMaker
//              (records/record_io.h)

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/byte_source.h"
#include "data/records/tf_example.h"
#include "data/stream/labels.h"

namespace shoal::data {

struct StreamImage {
  std::vector<uint8_t> bytes;  // encoded
  int32_t label = 0;
  std::string name;    // PATH:NAME, for messages
  std::string damage;  // not empty: the bytes are damaged, for this reason
};

// For one thread at a time.
class RecordStream {
 public:
  virtual ~RecordStream() = default;
  // Reads the next image; returns false at the end. Throws std::invalid_argument naming place and
  // reason if bytes are damaged, cut short or of another format, or if an image has no label; and
  // what the source throws.
  virtual bool next(StreamImage& image) = 0;
};

// Recognises the format by the first bytes; no bytes at all are a stream without images. The
// arguments must outlive the stream.
std::unique_ptr<RecordStream> open_stream(ByteSource& source, const StreamLabels& labels,
                                          const ExampleKeys& keys);

}  // namespace shoal::data
