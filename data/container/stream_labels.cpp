#include "data/container/stream_labels.h"

#include <stdexcept>
#include <utility>

namespace shoal::data {
namespace {

constexpr char kNameThem[] = "; name the classes with --classes FILE";

}  // namespace

StreamLabels::StreamLabels(std::vector<std::string> classes) : classes_(std::move(classes)) {
  for (size_t i = 0; i < classes_.size(); ++i) places_[classes_[i]] = static_cast<int32_t>(i);
}

const int32_t* StreamLabels::find(std::string_view name) const {
  const auto place = places_.find(std::string(name));
  return place == places_.end() ? nullptr : &place->second;
}

int32_t StreamLabels::label_of(const LabelText& label) const {
  if (label.number != kNoNumber) {
    if (label.number < 0 || label.number >= static_cast<int64_t>(classes_.size()))
      throw std::invalid_argument("has the label " + std::to_string(label.number) +
                                  ", but there are only " + std::to_string(classes_.size()) +
                                  " classes" + kNameThem);
    return static_cast<int32_t>(label.number);
  }
  const int32_t* const found = find(label.text);
  if (found == nullptr)
    throw std::invalid_argument("has the unknown class '" + label.text + "'" + kNameThem);
  return *found;
}

int32_t StreamLabels::label_of_name(std::string_view name) const {
  std::string_view rest = name;
  for (size_t slash; (slash = rest.rfind('/')) != std::string_view::npos;) {
    rest = rest.substr(0, slash);
    const size_t before = rest.rfind('/');
    const std::string_view folder =
        before == std::string_view::npos ? rest : rest.substr(before + 1);
    const bool tar = folder.ends_with(".tar");
    if (const auto* found = find(tar ? folder.substr(0, folder.size() - 4) : folder)) return *found;
  }
  const std::string_view file = name.substr(name.rfind('/') + 1);
  if (const auto* found = find(file.substr(0, file.find('_')))) return *found;
  throw std::invalid_argument(
      std::string("has neither a label beside it nor a known class in its name") + kNameThem);
}

}  // namespace shoal::data
