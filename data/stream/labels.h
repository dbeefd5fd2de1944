#pragma once
// Labels of images in a stream. Its classes must be known, as it cannot be searched beforehand.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/labels/label_text.h"

namespace shoal::data {

// Immutable. Thread-safe.
class StreamLabels {
 public:
  explicit StreamLabels(std::vector<std::string> classes);

  const std::vector<std::string>& classes() const { return classes_; }
  // Returns the index of a name in classes(); a number is an index already. Throws
  // std::invalid_argument with a message to follow the name of the image.
  int32_t label_of(const LabelText& label) const;
  // Returns the class in the name of an image: the innermost folder that is a class, else the part of
  // the file name before the first '_'. Throws likewise.
  int32_t label_of_name(std::string_view name) const;

 private:
  const int32_t* find(std::string_view name) const;

  std::vector<std::string> classes_;
  std::unordered_map<std::string, int32_t> places_;
};

}  // namespace shoal::data
