#pragma once
// Streams of labeled images, read from bytes that can be read only once. Formats:
//
//   tar        WebDataset samples (tar/webdataset.h); images in class folders, or in class tars
//              inside a tar; images whose names begin with their class (n01440764_10026.JPEG).
//              Several tars may follow one another, like the objects in a SageMaker pipe.
//   TFRecord   tf.Examples (records/tf_record.h)
//   RecordIO   MXNet's image records; images and labels wrapped by SageMaker
//              (records/record_io.h)

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/byte_source.h"
#include "data/records/tf_example.h"
#include "data/container/stream_labels.h"

namespace shoal::data {

struct StreamImage {
  std::vector<uint8_t> bytes;  // encoded
  int32_t label = 0;
  std::string name;    // PATH:NAME, for messages
  std::string damage;  // why the bytes are damaged; empty if they are not
};

// Not thread-safe.
class RecordStream {
 public:
  virtual ~RecordStream() = default;
  // Reads the next image; returns false at the end. Throws std::invalid_argument naming position
  // and reason if the bytes are damaged, cut short or of another format, or if an image has no
  // label. Throws what the source throws.
  virtual bool next(StreamImage& image) = 0;
};

// Recognizes the format by the first bytes. A source without bytes is a stream without images. The
// arguments must outlive the stream.
std::unique_ptr<RecordStream> open_stream(ByteSource& source, const StreamLabels& labels,
                                          const ExampleKeys& keys);

}  // namespace shoal::data
