#include "data/container/label_text.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace shoal::data {
namespace {

constexpr size_t kMaxLabel = 200;  // bytes
constexpr std::string_view kBlanks = " \t\r\n\f\v";

std::optional<LabelText> from_json(const nlohmann::json& value) {
  if (const auto number = whole_number(value); number && *number <= INT32_MAX)
    return LabelText{*number, ""};
  if (value.is_string()) return parse_label(value.get_ref<const std::string&>());
  return std::nullopt;
}

}  // namespace

std::optional<LabelText> parse_label(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
  if (text.size() > kMaxLabel || text.find_first_of("\r\n\0", 0, 3) != std::string_view::npos)
    return std::nullopt;
  const size_t sign = text[0] == '-' ? 1 : 0;
  const bool digits =
      text.size() > sign &&
      std::all_of(text.begin() + sign, text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return LabelText{kNoNumber, std::string(text)};
  const auto number = parse_number<int32_t>(text);
  if (!number || *number < 0) return std::nullopt;
  return LabelText{*number, ""};
}

std::optional<LabelText> parse_json_label(std::string_view text) {
  const auto json = parse_json(text);
  if (!json.is_object()) return from_json(json);
  for (const char* key : {"label", "cls", "class", "target", "class_name"}) {
    const auto found = json.find(key);
    if (found != json.end()) return from_json(*found);
  }
  return std::nullopt;
}

void set_label(const LabelText& label, Scan& scan, ScanEntry& entry) {
  if (label.number != kNoNumber)
    entry.number = label.number;
  else
    entry.text = scan.place_of(label.text);
}

}  // namespace shoal::data
