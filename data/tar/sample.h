#pragma once
// A sample of a WebDataset shard: consecutive files of a tar with the same key, such as 0001.jpg
// and 0001.cls. Source: the WebDataset project's description of its format.
//
// The key is the name up to the first dot of the last path component. The image is .jpg, .jpeg,
// .png or .webp. The label is .cls, else .json (container/label_text.h), else .txt; of several
// files with the same extension, the first one. Other files of a sample are ignored.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "data/container/label_text.h"

namespace shoal::data {

// Returns the key of a member of a tar. `name`: its name, with its folders.
std::string_view sample_key(std::string_view name);
bool is_image_name(std::string_view name);               // whether it can be the image of a sample
bool is_label_name(std::string_view name);               // whether it can be the label of a sample
constexpr uint64_t kMaxSampleLabel = uint64_t{1} << 20;  // bytes

// Assembles one sample at a time from its files. Not thread-safe. Functions throw
// std::invalid_argument with the names of the source and the file.
class Sample {
 public:
  // `source`: name of the file or stream, for messages; must outlive the sample.
  explicit Sample(const std::string& source) : source_(source) {}

  bool includes(std::string_view name) const { return sample_key(name) == key_; }
  // Forgets the previous sample and begins the one that includes the file `name`.
  void begin(std::string_view name);
  // Ends the sample: includes() then returns false for every file.
  void end() { key_.clear(); }

  // Adds an image; is_image_name(name) must be true. Throws if the sample already has an image.
  void add_image(std::string_view name);
  // Adds a label file of `bytes` bytes. Calls `read` for its content, unless the file is too large
  // or an earlier label file has precedence. Throws if `read` returns fewer bytes.
  void add_label(std::string_view name, uint64_t bytes, const std::function<std::string()>& read);

  bool has_image() const { return !image_.empty(); }
  const std::string& label_name() const { return label_name_; }  // empty: no label
  // Returns the label; nothing if there is none. Throws if it is too large, or neither a number nor
  // a name.
  std::optional<LabelText> label() const;
  // Call for a sample without an image. Throws if it has a .cls, because then the image is missing.
  // A .txt or .json is allowed: it may describe the dataset.
  void check_label_without_image() const;
  // Call for each file of a sample without an image. Throws for names such as photo.1.jpg: the user
  // takes the file for an image, but its extension in WebDataset is 1.jpg.
  void check_left_out(std::string_view name) const;

 private:
  [[noreturn]] void refuse(std::string_view name, const std::string& what) const;

  const std::string& source_;
  std::string key_, image_, label_name_, label_;
  bool label_too_large_ = false;
};

}  // namespace shoal::data
