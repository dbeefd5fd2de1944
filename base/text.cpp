#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <sstream>

namespace shoal {

std::string strf(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  if (length > 0) std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  va_end(arguments);
  return text;
}

std::string hex(uint64_t value) {
  return strf("%016llx", static_cast<unsigned long long>(value));
}

std::string number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::optional<int64_t> parse_whole_number(std::string_view text) {
  const auto value = parse_number<int64_t>(text);
  if (!value || *value < 0) return std::nullopt;
  return value;
}

std::string joined(const std::vector<std::string>& texts, std::string_view separator, size_t most) {
  std::string all;
  for (size_t i = 0; i < std::min(texts.size(), most); ++i)
    all.append(i == 0 ? "" : separator).append(texts[i]);
  return texts.size() > most ? all + " and " + std::to_string(texts.size() - most) + " more" : all;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string wrapped(const std::string& heading, const std::vector<std::string>& entries,
                    size_t indent, size_t width, size_t gap) {
  size_t column = std::max(indent, character_count(heading) + 1);
  std::string text = heading + std::string(column - character_count(heading), ' ');
  bool first = true;  // whether the next entry is the first of its line
  for (const std::string& entry : entries) {
    if (!first && column + gap + character_count(entry) > width) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    text += std::string(first ? 0 : gap, ' ') + entry;
    column += (first ? 0 : gap) + character_count(entry);
    first = false;
  }
  return text;
}

size_t character_count(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, starts_character));
}

namespace {

struct Character {
  uint32_t point = 0;
  size_t bytes = 0;  // 0: not well-formed UTF-8
};

// Returns the first character of `text`, which must not be empty.
Character first_character(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : 4;
  if ((length == 4 && lead >> 3 != 30) || length > text.size()) return {};
  uint32_t point = length == 1 ? lead : lead & (0xFFu >> (length + 1));
  for (size_t k = 1; k < length; ++k) {
    const auto next = static_cast<uint8_t>(text[k]);
    if (next >> 6 != 2) return {};
    point = point << 6 | (next & 0x3F);
  }
  constexpr uint32_t kLowest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kLowest[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
    return {};
  return {point, length};
}

bool changes_lines_or_direction(uint32_t point) {
  return point == 0x061C || point == 0x200E || point == 0x200F ||
         (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

}  // namespace

size_t byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.starts_with(kMark) ? kMark.size() : 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character next = first_character(text);
    if (next.bytes == 0) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Character next = first_character(text);
    const auto byte = static_cast<uint8_t>(text[0]);
    if (byte == '\n' || byte == '\t')
      result += byte == '\n' ? "\\n" : "\\t";
    else if (next.bytes == 0 || next.point < 0x20 || (next.point >= 0x7F && next.point < 0xA0))
      result += strf("\\x%02x", next.bytes == 0 ? byte : next.point);
    else if (changes_lines_or_direction(next.point))
      result += strf("\\u%04x", next.point);
    else
      result.append(text.substr(0, next.bytes));
    text.remove_prefix(next.bytes == 0 ? 1 : next.bytes);
  }
  return result;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace shoal
