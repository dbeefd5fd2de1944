#pragma once
// Decides which files of a source are images. The others are left out and reported.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::data {

// Number of leading bytes of a file that show whether it is an image.
constexpr size_t kImageHead = 32;

// Whether `name` has the extension of an image format, even of one that cannot be read here. Such a
// file counts as an image whatever its content, so that damage is noticed.
bool has_image_extension(std::string_view name);

// Whether `extension` (without the dot, in any case) marks the image of a WebDataset sample: jpg,
// jpeg, png or webp. Other image formats in a sample are further data, such as masks.
bool is_sample_extension(std::string_view extension);

// Whether the file is an image by its name or its first bytes (kImageHead, or all of a shorter
// file).
bool is_image(std::string_view name, std::span<const uint8_t> head);

// The same for a file on disk, which is opened only if its name does not decide. A file that cannot
// be opened counts as an image: reading it will report the reason.
bool is_image_file(const std::string& path);

// Files of a source that are left out.
struct LeftOut {
  int64_t files = 0;                  // no images by name or content
  std::vector<std::string> examples;  // names of the first three of them
  int64_t hidden = 0;                 // files whose names start with a dot

  void add(std::string_view file);
  void add(const LeftOut& more);
  bool empty() const { return files == 0 && hidden == 0; }
  std::string sentence(const std::string& source) const;  // for the user
};

}  // namespace shoal::data
