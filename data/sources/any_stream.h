#pragma once
// Opens streams of images in any of these formats:
//
//   tar        WebDataset samples (tar/sample.h); images in class folders, or in class tars
//              inside a tar; images whose names begin with their class (n01440764_10026.JPEG).
//              Several tars may follow one another, like the objects in a SageMaker pipe.
//   TFRecord   tf.Examples (records/tf_record.h)
//   RecordIO   MXNet's image records; images and labels wrapped by SageMaker
//              (records/record_io.h)

#include <memory>

#include "data/byte_source.h"
#include "data/container/record_stream.h"
#include "data/container/stream_labels.h"
#include "data/records/tf_example.h"

namespace shoal::data {

// Returns the images of `source`. The first call of next() recognizes the format by the first
// bytes. It throws std::invalid_argument if the bytes are compressed, or if their format is unknown
// or can be read only from files. An empty source has no images.
// The arguments must outlive the stream.
std::unique_ptr<RecordStream> open_record_stream(ByteSource& source, const StreamLabels& labels,
                                                 const ExampleKeys& keys);

}  // namespace shoal::data
