#include "data/labels/image_key.h"

#include <charconv>

namespace shoal::data {

std::optional<int64_t> number_of(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::string_view stem_of(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  const size_t dot = name.rfind('.');
  return dot == 0 ? name : name.substr(0, dot);
}

std::optional<int64_t> number_at_end(std::string_view name) {
  const std::string_view stem = stem_of(name);
  return number_of(stem.substr(stem.find_last_not_of("0123456789") + 1));
}

}  // namespace shoal::data
