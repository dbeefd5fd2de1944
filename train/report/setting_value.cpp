#include "train/report/setting_value.h"

#include <charconv>
#include <cmath>

#include "base/json.h"

namespace shoal::train {

nlohmann::ordered_json setting_value(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  const char* const end = text.data() + text.size();
  int64_t whole = 0;
  if (auto [at, error] = std::from_chars(text.data(), end, whole);
      error == std::errc() && at == end)
    return whole;
  uint64_t large = 0;  // a seed may have 64 bits
  if (auto [at, error] = std::from_chars(text.data(), end, large);
      error == std::errc() && at == end)
    return large;
  double number = 0;
  if (auto [at, error] = std::from_chars(text.data(), end, number);
      error == std::errc() && at == end && std::isfinite(number))
    return number;
  return text;
}

}  // namespace shoal::train
