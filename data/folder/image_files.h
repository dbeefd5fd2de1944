#pragma once
// Which files of a source are images. The others are left out, counted and named.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::data {

// Bytes of a file's beginning that show whether it is an image.
constexpr size_t kImageHead = 32;

// Whether `name` has the extension of an image format, readable here or not. Such a file counts as
// an image whatever it holds, so that damage is noticed.
bool has_image_extension(std::string_view name);

// Whether `name` or the first bytes of its content (kImageHead or all) are an image's.
bool is_image(std::string_view name, std::span<const uint8_t> head);

// The same for a file on disk. Looks into it only where the name does not suffice. A file that
// cannot be opened counts as an image: reading it will give the reason.
bool is_image_file(const std::string& path);

// What a source leaves out.
struct LeftOut {
  int64_t files = 0;                  // no images by name or content
  std::vector<std::string> examples;  // the first of these
  int64_t hidden = 0;                 // files whose names begin with a dot

  void add(std::string_view file);
  void add(const LeftOut& more);
  bool empty() const { return files == 0 && hidden == 0; }
  std::string sentence(const std::string& source) const;  // for the user
};

}  // namespace shoal::data
