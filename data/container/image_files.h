#pragma once
// Decides which files of a source are images. Sources leave out all other files and report them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::data {

// Number of leading bytes of a file that show whether it is an image.
constexpr size_t kImageHead = 32;

// Whether `name` has the extension of an image format, even one that shoal cannot read. Such a file
// counts as an image even if its content is something else, so that damaged images are reported.
bool has_image_extension(std::string_view name);

// Whether `extension` (without the dot, in upper or lower case) marks the image of a WebDataset
// sample: jpg, jpeg, png or webp. Files of other image formats in a sample are extra data, such as
// masks.
bool is_sample_extension(std::string_view extension);

// Whether a file is an image by its name or by its first bytes. `head`: the first kImageHead bytes,
// or all of a shorter file.
bool is_image(std::string_view name, std::span<const uint8_t> head);

// Like is_image(), for a file on disk. Opens the file only if its name does not decide. A file that
// cannot be opened counts as an image: reading it will report the reason.
bool is_image_file(const std::string& path);

// The files that a source leaves out: files that are not images, hidden files and broken links.
struct LeftOut {
  int64_t files = 0;                  // number of files that are not images by name or content
  std::vector<std::string> examples;  // names of the first three of these files
  int64_t loose = 0;                  // number of images beside the class folders
  std::string loose_example;          // name of the first one
  int64_t hidden = 0;                 // number of files whose names start with a dot
  int64_t broken = 0;                 // number of broken links
  std::string broken_example;         // name of the first broken link

  void add(std::string_view file);
  void add_loose(std::string_view image);
  void add_broken(std::string_view link);
  void add(const LeftOut& more);
  bool empty() const { return files + loose + hidden + broken == 0; }
  // Returns a warning that names the source, the counts and the examples. Call only if not empty().
  std::string sentence(const std::string& source) const;
};

}  // namespace shoal::data
