#include "base/format/counted.h"

namespace shoal {

std::string counted(int64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + ' ' + std::string(noun);
  if (count != 1) text += noun.ends_with('s') ? "es" : "s";
  return text;
}

}  // namespace shoal
