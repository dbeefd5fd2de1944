#pragma once
// WebDataset shards: tars of samples (sample.h).

#include <string>
#include <vector>

#include "data/container/scan.h"
#include "data/tar/tar_reader.h"

namespace shoal::data {

// Whether any image has a label (.cls, .json, .txt) in its sample, that is, among the consecutive
// members with the same key.
bool is_webdataset(const std::vector<TarMember>& members);

// Returns the samples of the shard `path` in order, each with the name of its image. `members` must
// include the content of labels up to kMaxSampleLabel bytes. Files that have no image with the same
// key are added to Scan::left_out. Throws std::invalid_argument, naming the file, for a sample with
// several images, a .cls without an image, a label that is neither a number nor a name, or a file
// name such as photo.1.jpg (Sample::check_left_out()).
Scan scan_webdataset(const std::string& path, const std::vector<TarMember>& members);

}  // namespace shoal::data
