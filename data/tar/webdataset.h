#pragma once
// WebDataset shards: tars in which consecutive files with the same key form a sample, such as
// 0001.jpg and 0001.cls. Source: the WebDataset project's description of its format.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/container/label_text.h"
#include "data/container/scan.h"
#include "data/tar/tar_reader.h"

namespace shoal::data {

// Whether any image has a label (.cls, .json, .txt) with the same key directly before or after it.
bool is_webdataset(const std::vector<TarMember>& members);

// Returns the samples of the shard `path` in order, each with the name of its image. `members` must
// include the content of labels up to kMaxSampleLabel bytes. The key of a sample is the name of
// its files up to the first dot of the last path component. The image is .jpg, .jpeg, .png or
// .webp. The label is .cls, else .json (label_text.h), else .txt. Ignores other files of a sample.
// Leaves out files without an image (Scan::left_out). Throws std::invalid_argument naming a sample
// with several images, a .cls without an image, or a label that is neither a number nor a name.
Scan scan_webdataset(const std::string& path, const std::vector<TarMember>& members);

// Return the parts of a member's name: the key, and the extension in lower case without the dot.
std::string_view sample_key(std::string_view name);
std::string sample_extension(std::string_view name);
bool is_image_name(std::string_view name);
bool is_label_name(std::string_view name);
// Returns the place of a label file in the order of preference, from 0: of several labels of a
// sample, the one with the lowest place is used.
int label_place(std::string_view name);
constexpr uint64_t kMaxSampleLabel = uint64_t{1} << 20;  // bytes
// Parses `text`, the content of the label file `name`. Returns nothing if it is neither a number
// nor a name.
std::optional<LabelText> parse_sample_label(std::string_view name, const std::string& text);

}  // namespace shoal::data
