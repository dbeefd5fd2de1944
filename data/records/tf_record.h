#pragma once
// TFRecord files of tf.Examples, as TensorFlow's ImageNet scripts write them.
//
// Images are read in place. The checksum of the record is verified at each read; if it is wrong, the
// image counts as damaged. A file may be compressed as a whole by gzip or zlib. No image of it can
// then be reached without unpacking everything before it (points to start from would each need 32
// KiB of history and cost more than decoding the image), so such files are opened only for reading
// in order (`shoal pack`), each unpacked once. Source: TensorFlow's guide "TFRecord and
// tf.train.Example".

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/file.h"
#include "data/stream/record_stream.h"

namespace shoal::data {

bool is_tf_record(const File& file);

// Images in the order of files and records; classes by `image/class/synset` or similar if the records
// have it, else by number. Skips a record that is so damaged that its label cannot be found, with a
// call of options.warning. Throws std::invalid_argument naming file and record; also for compressed
// files unless options.in_order.
std::shared_ptr<const Dataset> open_tf_records(const std::vector<std::string>& paths,
                                               const OpenOptions& options);

// The images of records that come one after the other. The arguments must outlive the stream.
std::unique_ptr<RecordStream> open_tf_record_stream(ByteSource& source, const StreamLabels& labels,
                                                    const ExampleKeys& keys);

}  // namespace shoal::data
