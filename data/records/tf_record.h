#pragma once
// TFRecord files of tf.Examples, as TensorFlow's programs for ImageNet write them.
//
// A record is its length (u64), the length's checksum, the data, the data's checksum; checksums are
// masked CRC-32C. An image is read where it lies, and its record's checksum verified each time: a
// record that is damaged is a damaged image. A file may be compressed as a whole by gzip or zlib.
// Then no image can be reached without unpacking what is before it, and points to start from
// would each need 32 KiB of history and cost more at every image than its decoding; so such files
// are opened only to be read in order (`shoal pack`), each unpacked once. Source: TensorFlow's
// guide "TFRecord and tf.train.Example".

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/file.h"

namespace shoal::data {

// A record: its length and that's checksum (kTfRecordHead bytes), the data, and the data's checksum
// (kTfRecordCheck bytes).
constexpr size_t kTfRecordHead = 12, kTfRecordCheck = 4;
// The length that a record's head states; nothing where its checksum is wrong.
std::optional<uint64_t> tf_record_length(const uint8_t* head);

bool is_tf_record(const File& file);

// Images in the order of files and records; classes by `image/class/synset` or the like where
// records have it, else by number. A record whose bytes are damaged so that its label cannot be
// found is left out, which options.warning is told. Throws std::invalid_argument naming file and
// record, also for compressed files unless options.in_order.
std::shared_ptr<const Dataset> open_tf_records(const std::vector<std::string>& paths,
                                               const OpenOptions& options);

}  // namespace shoal::data
