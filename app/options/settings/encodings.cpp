#include "app/options/settings/encodings.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace shoal::app {
namespace {

using Json = nlohmann::json;

std::string scalar(const Json& value) {
  if (value.is_structured()) throw std::invalid_argument("a list of numbers or strings");
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Returns the text of one list item: a value, or two values joined by spelling[1].
std::string item(const Json& value, const std::string& spelling) {
  if (!value.is_array() || value.size() != 2 || spelling.size() < 2) return scalar(value);
  return scalar(value[0]) + spelling[1] + scalar(value[1]);
}

std::vector<std::string> items(const Json& json, const std::string& spelling) {
  std::vector<std::string> list;
  if (json.is_array()) {
    for (const Json& value : json) list.push_back(item(value, spelling));
    return list;
  }
  if (spelling.size() < 2) throw std::invalid_argument("a list, or text as on the command line");
  for (const auto& [name, value] : json.items())
    list.push_back(item(Json::array({name, value}), spelling));
  // JSON sorts names as strings: "192" before "65".
  std::stable_sort(list.begin(), list.end(), [](const std::string& a, const std::string& b) {
    return std::strtod(a.c_str(), nullptr) < std::strtod(b.c_str(), nullptr);
  });
  return list;
}

}  // namespace

std::optional<std::string> decoded(const std::string& text) {
  if (text == "null" || text == "None") return std::nullopt;
  if (!text.starts_with('"')) return text;
  const Json json = parse_json(text);
  return json.is_string() ? decoded(json.get<std::string>()) : text;
}

std::string joined_list(const std::string& text, const std::string& spelling) {
  if (!text.starts_with('[') && !text.starts_with('{')) return text;
  const Json json = parse_json(text);
  if (!json.is_structured()) return text;  // a pattern: {000..127}.tar
  if (spelling.empty()) throw std::invalid_argument("one value, not a list");
  return joined(items(json, spelling), spelling.substr(0, 1));
}

std::string in_words_of(const Option& option, const std::string& text) {
  const std::string word = lower(text);
  if (option.kind == Kind::flag) return text;
  const bool on = word.empty() || word == "true" || word == "yes" || word == "on";
  if (on && option.kind == Kind::optional_value) return option.bare;
  const bool off = word == "false" || word == "no" || word == "off" || word == "none";
  if (off && !option.off.empty()) return option.off;
  return joined_list(text, option.list);
}

}  // namespace shoal::app
