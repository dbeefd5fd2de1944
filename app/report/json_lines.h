#pragma once
// Reads files with one JSON object per line, such as history.jsonl.

#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace shoal::app {

// Calls `take` with each object. Skips an incomplete last line (the run is still writing it, or was
// killed) and lines that are not JSON objects. Returns notes for the report: one for each kind of
// skipped line. A file that does not exist counts as empty. Throws std::system_error if the file
// cannot be read.
std::vector<std::string> read_rows(const std::filesystem::path& path,
                                   const std::function<void(const nlohmann::json&)>& take);

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// Returns the number `name` of `row`, or kMissing if there is none.
double number_or_missing(const nlohmann::json& row, const char* name);

// Appends to `to` all numbers in `value` and its nested objects and lists. Each name is `prefix`
// followed by the number's path: "gpu.0.memory".
void flatten(const std::string& prefix, const nlohmann::json& value,
             std::vector<std::pair<std::string, double>>& to);

// Returns the row's "time" ("2026-11-23T08:30:00.123Z") in seconds since 1970; kMissing if it has
// none.
double time_of(const nlohmann::json& row);

}  // namespace shoal::app
