#include "base/normalization.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/text.h"

namespace shoal {

ChannelValues averaged(const ChannelValues& values) {
  // In double precision, the average of 0.4, 0.4 and 0.4 would be 0.4000000000000001.
  const long double sum = static_cast<long double>(values[0]) + values[1] + values[2];
  const auto average = static_cast<double>(sum / 3);
  return {average, average, average};
}

namespace {

// Parses one number or three, each from `least` to 1. Throws std::invalid_argument(form) for other
// texts.
ChannelValues parse(const std::string& text, double least, const char* form) {
  constexpr const char* kSeparators = ", ";
  std::vector<double> values;
  for (size_t at = text.find_first_not_of(kSeparators); at != text.npos;) {
    const size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
    const auto value = parse_number<double>(std::string_view(text).substr(at, end - at));
    if (!value || !(*value >= least && *value <= 1)) throw std::invalid_argument(form);
    values.push_back(*value);
    at = text.find_first_not_of(kSeparators, end);
  }
  if (values.size() == 1) return {values[0], values[0], values[0]};
  if (values.size() != 3) throw std::invalid_argument(form);
  return {values[0], values[1], values[2]};
}

}  // namespace

ChannelValues parse_mean(const std::string& text) {
  return parse(text, 0, "one number from 0 to 1, or three (0.485,0.456,0.406)");
}

ChannelValues parse_std(const std::string& text) {
  return parse(text, std::numeric_limits<double>::min(),
               "one number above 0 and at most 1, or three (0.229,0.224,0.225)");
}

std::string text_of(const ChannelValues& values) {
  if (values[0] == values[1] && values[1] == values[2]) return number(values[0]);
  return joined({number(values[0]), number(values[1]), number(values[2])}, ",");
}

}  // namespace shoal
