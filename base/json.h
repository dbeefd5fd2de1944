#pragma once
// Parses JSON from untrusted sources and prints JSON for terminals.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace shoal {

constexpr int kMaxJsonLevels = 100;

// Whether lists and objects in `text` nest deeper than kMaxJsonLevels. nlohmann's library copies
// and prints values recursively, so deeply nested values would overflow the stack.
bool nests_too_deep(std::string_view text);

// Parses `text`. Returns a discarded value (is_discarded()) if it is not valid JSON or nests too
// deep. Code that parses untrusted input must use this function, or check nests_too_deep() before
// it calls nlohmann's parser.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text) {
  if (nests_too_deep(text)) return Json(Json::value_t::discarded);
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

// Returns `json` as text, in one line or indented by `indent` blanks. Replaces invalid UTF-8.
// Escapes all control characters, including U+007F to U+009F, because terminals interpret them.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  const std::string raw = json.dump(indent, ' ', false, Json::error_handler_t::replace);
  std::string text;
  text.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    const auto next = static_cast<unsigned char>(raw[i + 1]);  // 0 at the end
    if (raw[i] == '\x7f') {
      text += "\\u007f";
    } else if (raw[i] == '\xc2' && next < 0xa0) {
      text += next < 0x90 ? "\\u008" : "\\u009";
      text += "0123456789abcdef"[next & 0xf];
      ++i;
    } else {
      text += raw[i];
    }
  }
  return text;
}

// Returns the number if `value` was parsed from an integer from 0 to 2^63 - 1, else nothing.
// nlohmann's get<int64_t>() would also convert fractions and, with undefined behavior, numbers out
// of range.
std::optional<int64_t> whole_number(const nlohmann::json& value);

// Returns `value` if it is a number, else nothing.
template <class Json>
std::optional<double> number_of(const Json& value) {
  return value.is_number() ? std::optional(value.template get<double>()) : std::nullopt;
}

// Returns the number `name` of `object`; nothing if there is none or `object` is not an object.
template <class Json>
std::optional<double> number_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? std::nullopt : number_of(*found);
}

// Returns the string `name` of `object`; empty if there is none or `object` is not an object.
template <class Json>
std::string text_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->template get<std::string>() : "";
}

}  // namespace shoal
