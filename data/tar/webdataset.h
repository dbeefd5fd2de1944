#pragma once
// WebDataset shards: tars in which the files of a sample stand together under one key, as in
// 0001.jpg, 0001.cls. Source: the WebDataset project's description of its format.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/labels/label_text.h"
#include "data/sources/scan.h"
#include "data/tar/tar_reader.h"

namespace shoal::data {

// True when an image has a label (.cls, .json, .txt) of the same key beside it.
bool is_webdataset(const std::vector<TarMember>& members);

// The samples of the shard `path` in their order, whose labels' content is kept with the members,
// as far as it is not larger than kLargestSampleLabel; each named by its image. The key is the
// name up to the first dot of its last part. The image is .jpg, .jpeg, .png or .webp; the label
// is .cls, else .json (label_text.h), else .txt. Other files of a sample are left alone, and files
// without an image are left out (Scan::left_out). Throws std::invalid_argument naming a sample with
// several images, a .cls without an image, or a label that is neither number nor name.
Scan scan_webdataset(const std::string& path, const std::vector<TarMember>& members);

// The parts of a member's name: its key; its extension in small letters, without the dot.
std::string_view sample_key(std::string_view name);
std::string sample_extension(std::string_view name);
bool is_image_name(std::string_view name);
bool is_label_name(std::string_view name);
// Of several labels of a sample the one with the lowest rank counts.
int label_rank(std::string_view name);
constexpr uint64_t kLargestSampleLabel = uint64_t{1} << 20;  // bytes of a .json
// The content of the label `name`; nothing: it is neither number nor name.
std::optional<LabelText> parse_sample_label(std::string_view name, const std::string& text);

}  // namespace shoal::data
