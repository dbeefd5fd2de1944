#pragma once
// Converts labels in a stream to class indices. The classes must be known beforehand, because a
// stream cannot be searched for them.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/container/label_text.h"

namespace shoal::data {

// Immutable. Thread-safe.
class StreamLabels {
 public:
  explicit StreamLabels(std::vector<std::string> classes);

  const std::vector<std::string>& classes() const { return classes_; }
  // Returns the index of a label in classes(); a label that is a number is already the index.
  // Throws std::invalid_argument if there is no such class; the caller puts the image's name before
  // the message.
  int32_t label_of(const LabelText& label) const;
  // Returns the index of the class in an image's name: the innermost folder that is named like a
  // class (or like CLASS.tar), else the part of the file name before the first '_'. Throws like
  // label_of().
  int32_t label_of_name(std::string_view name) const;

 private:
  const int32_t* find(std::string_view name) const;

  std::vector<std::string> classes_;
  std::unordered_map<std::string, int32_t> places_;
};

}  // namespace shoal::data
