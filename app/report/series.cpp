#include "app/report/series.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "app/report/json_lines.h"
#include "base/round.h"
#include "base/text.h"

namespace shoal::app {

nlohmann::ordered_json chart_number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(strf("%.9g", value).c_str(), nullptr);  // std::stod rejects denormal numbers
}

void Series::add(const std::vector<std::pair<std::string, double>>& row) {
  for (const auto& entry : row) {
    auto column = std::find_if(columns_.begin(), columns_.end(),
                               [&](const auto& known) { return known.first == entry.first; });
    if (column == columns_.end()) {
      if (columns_.size() == kMaxColumns) continue;
      column = columns_.insert(column, {entry.first, {}});
    }
    column->second.resize(rows_, kMissing);
    column->second.push_back(entry.second);
  }
  ++rows_;
}

nlohmann::ordered_json Series::json() const {
  const size_t each = std::max<size_t>(1, ceil_divide(rows_, kMaxPoints));
  nlohmann::ordered_json json = {{"rows_per_point", each}};
  for (const auto& [name, values] : columns_) {
    nlohmann::ordered_json points = nlohmann::ordered_json::array();
    for (size_t begin = 0; begin < rows_; begin += each) {
      const size_t end = std::min(begin + each, rows_);
      double sum = 0, last = std::numeric_limits<double>::quiet_NaN();
      size_t count = 0;
      for (size_t i = begin; i < std::min(end, values.size()); ++i) {
        if (!std::isfinite(values[i])) continue;
        last = values[i];
        sum += last;
        ++count;
      }
      const bool axis = name == "step" || name == "time";
      // chart_number() would round steps above a million.
      if (axis && count > 0)
        points.push_back(std::round(last * 10) / 10);
      else
        points.push_back(chart_number(count > 0 ? sum / static_cast<double>(count) : last));
    }
    json[name] = std::move(points);
  }
  return json;
}

}  // namespace shoal::app
