#pragma once
// The columns of a list of images, found by their names in its header.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/format/csv_reader.h"

namespace shoal::data {

struct CsvColumns {
  size_t image = 0;
  size_t label = 0;             // the class; equal to `image` if the dataset is unlabeled
  std::optional<size_t> split;  // the split of each image; the column is split, set, fold or subset
};

// Finds the columns in the header, which is the current record of `reader`. Throws
// std::invalid_argument with the accepted names if a required column is missing.
CsvColumns csv_columns(const CsvReader& reader, bool unlabeled);

// Collects the values of the column CsvColumns::split.
class SplitValues {
 public:
  void add(std::string_view value);
  // Returns a text such as "the column 'split' ('train', 'val')"; "" unless the column `name` has 2
  // to 10 different values. (A column with more values does not name splits.)
  std::string column(const std::string& name) const;

 private:
  std::vector<std::string_view> values_;  // different values, in the order of their first lines
};

}  // namespace shoal::data
