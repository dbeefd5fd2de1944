#pragma once
// Columns of numbers for the charts of a report. Long columns are reduced to a limited number of
// points.

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace shoal::app {

// Rounds the number to nine significant digits, which are enough to distinguish all float32 values.
// Returns null if the number is not finite.
nlohmann::ordered_json chart_number(double value);

class Series {
 public:
  static constexpr size_t kMaxPoints = 1500;
  static constexpr size_t kMaxColumns = 96;  // further names are ignored

  // Adds one row of named values. NaN: no value. A new name creates a column.
  void add(const std::vector<std::pair<std::string, double>>& row);

  size_t rows() const { return rows_; }

  // Returns {"rows_per_point": K, NAME: [numbers], ...}. With more than kMaxPoints rows, each point
  // combines K consecutive rows. Its "step" and "time" are the last ones of these rows. Its other
  // columns are means of the values that are not missing.
  nlohmann::ordered_json json() const;

 private:
  std::vector<std::pair<std::string, std::vector<double>>> columns_;
  size_t rows_ = 0;
};

}  // namespace shoal::app
