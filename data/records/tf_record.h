#pragma once
// TFRecord files of tf.Examples, as TensorFlow's ImageNet scripts write them.
//
// Images are read in place. Each read verifies the checksum of the record; if it is wrong, the
// image counts as damaged. A file may be compressed as a whole by gzip or zlib. Then an image can
// be reached only by decompressing everything before it. Therefore compressed files are opened only
// for reading in order (OpenOptions::in_order). Each file is then decompressed once to list its
// images, unless the list is cached, and once to read them. An index of points at which
// decompression can start does not help: a point needs 32 KiB of history, and decompressing from it
// to an image would cost more than decoding the image.
//
// Source: TensorFlow's guide "TFRecord and tf.train.Example".

#include <memory>
#include <string>
#include <vector>

#include "data/container/record_stream.h"
#include "data/container/stream_labels.h"
#include "data/dataset.h"
#include "data/file.h"
#include "data/records/tf_example.h"

namespace shoal::data {

// Whether the file, decompressed if necessary, begins with the head of a record.
bool is_tf_record(const File& file);

// Opens all images, in the order of files and records. Classes are the names under
// `image/class/synset` (or the given key) if the records have them, else numbers. Verifies the
// checksum of a record only if the record cannot be parsed or its label changes the classes. If the
// checksum is wrong, leaves out the record and calls options.warning. Throws std::invalid_argument
// naming file and record if a record has a damaged head, no image or no valid label. Also throws
// for compressed files unless options.in_order is set.
std::shared_ptr<const Dataset> open_tf_records(const std::vector<std::string>& paths,
                                               const OpenOptions& options);

// Reads the images of records from front to back. The arguments must outlive the stream.
std::unique_ptr<RecordStream> open_tf_record_stream(ByteSource& source, const StreamLabels& labels,
                                                    const ExampleKeys& keys);

}  // namespace shoal::data
