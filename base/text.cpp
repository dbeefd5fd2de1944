#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdarg>
#include <cstdint>
#include <cstdio>

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

std::string wrapped(const std::string& heading, const std::vector<std::string>& entries,
                    size_t indent, size_t width, size_t gap) {
  const auto length = [](const std::string& text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), starts_character));
  };
  size_t column = std::max(indent, length(heading) + 1);
  std::string text = heading + std::string(column - length(heading), ' ');
  bool first = true;  // of its line
  for (const std::string& entry : entries) {
    if (!first && column + gap + length(entry) > width) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
      first = true;
    }
    text += std::string(first ? 0 : gap, ' ') + entry;
    column += (first ? 0 : gap) + length(entry);
    first = false;
  }
  return text;
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : 4;
    if (length == 4 && lead >> 3 != 30) return false;
    if (i + length > text.size()) return false;
    uint32_t point = length == 1 ? lead : lead & (0xFFu >> (length + 1));
    for (size_t k = 1; k < length; ++k) {
      const auto next = static_cast<uint8_t>(text[i + k]);
      if (next >> 6 != 2) return false;
      point = point << 6 | (next & 0x3F);
    }
    constexpr uint32_t kLowest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < kLowest[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
      return false;
    i += length;
  }
  return true;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace shoal
