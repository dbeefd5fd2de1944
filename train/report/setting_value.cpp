#include "train/report/setting_value.h"

#include <cmath>

#include "base/json.h"
#include "base/text.h"

namespace shoal::train {

nlohmann::ordered_json setting_value(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (const auto whole = parse_number<int64_t>(text)) return *whole;
  if (const auto large = parse_number<uint64_t>(text)) return *large;  // a seed may have 64 bits
  if (const auto real = parse_number<double>(text); real && std::isfinite(*real)) return *real;
  return text;
}

}  // namespace shoal::train
