#include "app/text.h"

#include <cctype>
#include <cstdint>

namespace shoal::app {

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

}  // namespace shoal::app
