#pragma once
// Reads the results in the folders of runs. Does not use LibTorch.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace shoal::app {

struct RunRow {
  std::string name;                         // folder, relative to the folder that was searched
  std::string model;                        // empty: unknown
  std::optional<double> top1;               // top-1 accuracy of the best evaluation, in percent
  std::optional<double> epochs;             // finished epochs; 1.5: ended within the second one
  std::optional<double> epochs_requested;   // --epochs; unset if time or steps end the run
  std::optional<double> images_per_second;  // training speed, mean of the epochs
  // "complete", "stopped" or "failed" (from summary.json), "running", or "unfinished" (no summary
  // and not running).
  std::string state;
  std::string time;                // time of the last change, ISO 8601 in UTC; may be empty
  std::vector<std::string> notes;  // what could not be read
};

// Whether `folder` contains the history or the summary of a run.
bool has_run_results(const std::filesystem::path& folder);

// Whether `folder` is that of a run, which may have no results yet.
bool is_run(const std::filesystem::path& folder);

// Returns the runs in `folder`: the folder itself if it is a run, else the runs below it, at most
// four levels deep. Sorted by name. Throws UserError if `folder` is not a folder.
std::vector<RunRow> find_runs(const std::filesystem::path& folder);

}  // namespace shoal::app
