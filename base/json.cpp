#include "base/json.h"

namespace shoal {

// Ignores brackets in strings. Does not detect syntax errors, so it also counts brackets after an
// error, which a parser would never reach.
bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      if (++depth > kMaxJsonLevels) return true;
    } else if (!quoted && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return false;
}

std::optional<int64_t> whole_number(const nlohmann::json& value) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > INT64_MAX) return std::nullopt;
  return value.get<int64_t>();
}

}  // namespace shoal
