#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/program.h"

namespace shoal::test {

// Returns the rows of a run's history with this event, such as "train".
inline std::vector<nlohmann::json> history(const std::filesystem::path& run,
                                           const std::string& event) {
  std::vector<nlohmann::json> rows;
  for (const auto& line : lines_of(read_text(run / "history.jsonl"))) {
    auto row = nlohmann::json::parse(line);
    if (row["event"] == event) rows.push_back(row);
  }
  return rows;
}

}  // namespace shoal::test
