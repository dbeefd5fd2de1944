#pragma once
// Images with their labels, one after the other, from bytes that are read once.
//
//   tar        WebDataset samples (sources/webdataset.h); images in class folders, or in class
//              tars inside a tar; images whose names begin with their class
//              (n01440764_10026.JPEG).
//              Tars may follow one another, as objects do in a pipe.
//   TFRecord   tf.Examples (sources/tf_record.h)
//   RecordIO   MXNet's image records; images and labels that SageMaker wraps
//              (sources/record_io.h)

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
  std::string damage;  // not empty: the bytes are not what was written, and this says why
};

// One thread at a time.
class RecordStream {
 public:
  virtual ~RecordStream() = default;
  // False at the end. Throws std::invalid_argument naming place and reason where the bytes are
  // damaged, cut short, of no such kind, or where an image has no label; and what the source
  // throws.
  virtual bool next(StreamImage& image) = 0;
};

// Told apart by the first bytes; nothing at all is a stream without images. What is given must
// outlive the stream.
std::unique_ptr<RecordStream> open_stream(ByteSource& source, const StreamLabels& labels,
                                          const ExampleKeys& keys);

// For record_stream.cpp: one function for each kind.
std::unique_ptr<RecordStream> open_tar_stream(ByteSource& source, const StreamLabels& labels);
std::unique_ptr<RecordStream> open_tf_record_stream(ByteSource& source, const StreamLabels& labels,
                                                    const ExampleKeys& keys);
std::unique_ptr<RecordStream> open_record_io_stream(ByteSource& source, const StreamLabels& labels);

}  // namespace shoal::data
