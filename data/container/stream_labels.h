#pragma once
// Converts labels in a stream to class indices. The classes must be known beforehand: a stream
// cannot be read twice, first for its classes and then for its images.

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
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Returns the index of a label in classes(); a number is already the index. Throws
  // std::invalid_argument if there is no such class. The message has no subject: the caller must
  // put the image's name before it.
  int32_t label_of(const LabelText& label) const;
  // Finds the class in an image's path: the innermost folder whose name is CLASS or CLASS.tar, else
  // the part of the file name before the first '_'. Returns its index. Throws like label_of().
  int32_t label_of_name(std::string_view name) const;

 private:
  const int32_t* find(std::string_view name) const;

  std::vector<std::string> classes_;
  std::unordered_map<std::string, int32_t> places_;
};

}  // namespace shoal::data
