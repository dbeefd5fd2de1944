#include "data/tar/sample.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "base/text.h"
#include "data/container/image_extensions.h"

namespace shoal::data {
namespace {

// Extensions of label files. If a sample has several, it uses the one that comes first here.
constexpr std::string_view kLabelExtensions[] = {"cls", "json", "txt"};

// Returns the offset of the first dot in the last path component, or the size of the name if there
// is none.
size_t key_length(std::string_view name) {
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  return std::min(name.find('.', base), name.size());
}

std::string extension(std::string_view name) {
  return lower(std::string(name.substr(std::min(key_length(name) + 1, name.size()))));
}

// Returns the index of the name's extension in kLabelExtensions, or the size of kLabelExtensions if
// `name` is not a label.
size_t label_rank(std::string_view name) {
  const auto found =
      std::find(std::begin(kLabelExtensions), std::end(kLabelExtensions), extension(name));
  return static_cast<size_t>(found - std::begin(kLabelExtensions));
}

}  // namespace

std::string_view sample_key(std::string_view name) {
  return name.substr(0, key_length(name));
}

bool is_image_name(std::string_view name) {
  return is_sample_extension(extension(name));
}

bool is_label_name(std::string_view name) {
  return label_rank(name) < std::size(kLabelExtensions);
}

void Sample::begin(std::string_view name) {
  key_ = sample_key(name);
  image_.clear();
  label_name_.clear();
  label_.clear();
  label_too_large_ = false;
}

void Sample::add_image(std::string_view name) {
  if (has_image()) refuse(name, "is the second image of its sample");
  image_ = name;
}

void Sample::add_label(std::string_view name, uint64_t bytes,
                       const std::function<std::string()>& read) {
  if (!label_name_.empty() && label_rank(name) >= label_rank(label_name_)) return;
  label_name_ = name;
  label_too_large_ = bytes > kMaxSampleLabel;
  if (label_too_large_) return;
  label_ = read();
  if (label_.size() < bytes) refuse(name, "is cut short");
}

std::optional<LabelText> Sample::label() const {
  if (label_name_.empty()) return std::nullopt;
  if (label_too_large_) refuse(label_name_, "is too large for a label");
  auto label = extension(label_name_) == "json" ? parse_json_label(label_) : parse_label(label_);
  if (!label)
    refuse(label_name_, "has no label: it must be a number, 0 or more, or the name of a class");
  return label;
}

void Sample::check_label_without_image() const {
  if (!label_name_.empty() && label_rank(label_name_) == 0)
    refuse(label_name_, "is a label without an image beside it");
}

void Sample::check_left_out(std::string_view name) const {
  const size_t dot = name.rfind('.');
  if (dot == name.npos || !is_sample_extension(lower(std::string(name.substr(dot + 1))))) return;
  refuse(name, "is not read as an image: WebDataset splits names at the first dot, so '" + key_ +
                   "' is its key and '" + extension(name) +
                   "' its extension; rename it and its label so that each name has only one dot");
}

void Sample::refuse(std::string_view name, const std::string& what) const {
  throw std::invalid_argument(source_ + ":" + std::string(name) + " " + what);
}

}  // namespace shoal::data
