#pragma once
// Declarations shared by the option_table*.cpp files. Not for other files.

#include <string>
#include <utility>
#include <vector>

#include "app/options/options.h"

namespace shoal::app {

inline constexpr unsigned kRun = kTrain | kEval | kPredict;

inline void add(std::vector<Option>& table, const std::string& group, std::vector<Option> rows) {
  for (Option& row : rows) {
    row.group = group;
    table.push_back(std::move(row));
  }
}

void add_data(std::vector<Option>& table);
void add_augmentation(std::vector<Option>& table);
void add_machine(std::vector<Option>& table);
void add_output(std::vector<Option>& table);
void add_packing(std::vector<Option>& table);
void add_measuring(std::vector<Option>& table);

}  // namespace shoal::app
