#pragma once
// Labels of images in a stream, which cannot be looked over beforehand to find its classes.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/labels/label_text.h"

namespace shoal::data {

// Immutable; any thread.
class StreamLabels {
 public:
  explicit StreamLabels(std::vector<std::string> classes);

  const std::vector<std::string>& classes() const { return classes_; }
  // A number counts in classes() from 0 on, a name is one of them. Throws std::invalid_argument, to
  // be put behind the image's name.
  int32_t label_of(const LabelText& label) const;
  // The class that the name tells: the innermost of its folders that is one, else what stands
  // before the first '_' of the file's name. Throws likewise.
  int32_t label_of_name(std::string_view name) const;

 private:
  const int32_t* find(std::string_view name) const;

  std::vector<std::string> classes_;
  std::unordered_map<std::string, int32_t> places_;
};

}  // namespace shoal::data
