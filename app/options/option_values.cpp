// Parses option values: flags, numbers of bytes and durations.
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>

#include "app/options/option_row.h"

namespace shoal::app {

bool parse_flag(const std::string& text) {
  const std::string small = lower(text);
  if (small.empty() || small == "true" || small == "yes" || small == "on" || small == "1")
    return true;
  if (small == "false" || small == "no" || small == "off" || small == "0") return false;
  throw std::invalid_argument("true or false");
}

int64_t parse_bytes(const std::string& text) {
  constexpr const char* kUnits = "KMGT";
  const char* const what = "a number of bytes, such as 500M or 16G";
  std::string digits = text;
  if (!digits.empty() && (digits.back() == 'B' || digits.back() == 'b')) digits.pop_back();
  int shift = 0;
  if (!digits.empty()) {
    const char unit = static_cast<char>(std::toupper(static_cast<unsigned char>(digits.back())));
    if (const char* found = std::strchr(kUnits, unit); found != nullptr && *found != '\0') {
      shift = 10 * static_cast<int>(found - kUnits + 1);
      digits.pop_back();
    }
  }
  int64_t value = -1;
  try {
    store(value, digits);
  } catch (const std::invalid_argument&) {  // reported below
  }
  if (value < 0 || value > (INT64_MAX >> shift)) throw std::invalid_argument(what);
  return value << shift;
}

double parse_duration(const std::string& text) {
  constexpr std::pair<char, double> kUnits[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};
  double seconds = 0, unit_before = HUGE_VAL;
  const char *at = text.data(), *const last = at + text.size();
  bool valid = at != last;
  while (valid && at != last) {
    double value = 0, unit = 1;
    const auto [end, error] = std::from_chars(at, last, value);
    for (const auto& [letter, size] : kUnits)
      if (end != last && *end == letter) unit = size;
    const bool plain = end == last && at == text.data();  // the whole text is a number
    valid = error == std::errc() && value >= 0 && std::isfinite(value) && unit < unit_before &&
            (plain || (end != last && (unit > 1 || *end == 's')));
    seconds += value * unit;
    unit_before = unit;
    at = plain || !valid ? last : end + 1;
  }
  if (!valid) throw std::invalid_argument("a duration, such as 1800, 30m or 1h30m");
  return seconds;
}

}  // namespace shoal::app
