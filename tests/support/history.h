#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/program.h"

namespace shoal::test {

// Returns the rows of a file of JSON lines, such as history.jsonl.
inline std::vector<nlohmann::json> rows(const std::filesystem::path& path) {
  std::vector<nlohmann::json> rows;
  for (const auto& line : lines_of(read_text(path))) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

// Returns the rows of a run's history with this event, such as "train".
inline std::vector<nlohmann::json> history(const std::filesystem::path& run,
                                           const std::string& event) {
  std::vector<nlohmann::json> found = rows(run / "history.jsonl");
  std::erase_if(found, [&](const nlohmann::json& row) { return row["event"] != event; });
  return found;
}

}  // namespace shoal::test
