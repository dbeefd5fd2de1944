#pragma once
// Columns of numbers for the charts of a report, in a bounded number of points.

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace shoal::app {

// Returns the number with six significant digits, enough for a chart; null if it is not finite.
nlohmann::ordered_json chart_number(double value);

class Series {
 public:
  static constexpr size_t kMaxPoints = 1500;
  static constexpr size_t kMaxColumns = 96;  // later names are ignored

  // Adds one row of named values. NaN: missing. A new name makes a new column.
  void add(const std::vector<std::pair<std::string, double>>& row);

  size_t rows() const { return rows_; }

  // Returns {"rows_per_point": K, NAME: [numbers]}. With more than kMaxPoints rows, each point
  // combines K consecutive ones: "step" and "time" are those of the last row, the other columns are
  // means of the values that are not missing.
  nlohmann::ordered_json json() const;

 private:
  std::vector<std::pair<std::string, std::vector<double>>> columns_;
  size_t rows_ = 0;
};

}  // namespace shoal::app
