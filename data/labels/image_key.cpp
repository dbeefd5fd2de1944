#include "data/labels/image_key.h"

#include "base/text.h"

namespace shoal::data {

std::string_view stem_of(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  const size_t dot = name.rfind('.');
  return dot == 0 ? name : name.substr(0, dot);
}

std::optional<int64_t> number_at_end(std::string_view name) {
  const std::string_view stem = stem_of(name);
  return parse_whole_number(stem.substr(stem.find_last_not_of("0123456789") + 1));
}

}  // namespace shoal::data
