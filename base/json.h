#pragma once
// Parses JSON that other programs may have written.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace shoal {

constexpr int kMaxJsonLevels = 100;

// Whether lists and objects in `text` nest deeper than kMaxJsonLevels. nlohmann's library copies
// and prints values recursively, so deeply nested ones would overflow the stack.
bool nests_too_deep(std::string_view text);

// Returns the value of `text`, or a discarded value (is_discarded()) if it is not JSON or nests too
// deep. Code that parses input from outside must use this function, or check nests_too_deep()
// before it calls nlohmann's parser.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text) {
  if (nests_too_deep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

// Returns a whole number from 0 to 2^63 - 1, or nothing for other values. nlohmann's
// get<int64_t>() also converts fractions and numbers out of range, the latter with undefined
// behavior.
std::optional<int64_t> whole_number(const nlohmann::json& value);

}  // namespace shoal
