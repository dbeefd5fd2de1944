#pragma once
// Decides which files of a source are images. Sources leave out all other files and report them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::data {

// Number of leading bytes of a file that is_image() needs.
constexpr size_t kImageHead = 32;

// Whether the extension or the first bytes of a file are those of an image. `head`: the first
// kImageHead bytes, or all bytes of a shorter file.
bool is_image(std::string_view name, std::span<const uint8_t> head);

// Like is_image(), for a file on disk. Opens the file only if it has no image extension. A file
// that cannot be read counts as an image, so that a later read reports the reason.
bool is_image_file(const std::string& path);

// The files that a source leaves out.
struct LeftOut {
  int64_t files = 0;                  // number of files that are not images by name or content
  std::vector<std::string> examples;  // names of the first three of these files
  int64_t loose = 0;                  // number of images beside the class folders
  std::string loose_example;          // name of the first of these images
  int64_t hidden = 0;                 // number of files whose names start with a dot
  int64_t broken = 0;                 // number of broken links
  std::string broken_example;         // name of the first broken link
  int64_t damaged = 0;                // number of records with a wrong checksum
  std::string damaged_example;        // name of the first of these records

  void add(std::string_view file);
  void add_loose(std::string_view image);
  void add_broken(std::string_view link);
  void add_damaged(std::string_view record);
  void add(const LeftOut& more);
  bool empty() const { return files + loose + hidden + broken + damaged == 0; }
  // Returns a warning with the source, the counts and the examples. Call only if not empty().
  std::string sentence(const std::string& source) const;
};

}  // namespace shoal::data
