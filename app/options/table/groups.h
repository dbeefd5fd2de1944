#pragma once
// Declarations shared by the files of this folder. Not for other files.

#include <string>
#include <utility>
#include <vector>

#include "app/options/options.h"

namespace shoal::app {

inline constexpr unsigned kRanks = kTrain | kEval | kPredict;  // commands that can use many ranks
inline constexpr unsigned kRun = kTrain | kEval | kPredict | kExport;

inline constexpr double kMaxHosts = 4096;  // larger numbers are probably typos

// Advice for settings that --resume may not change.
inline constexpr const char* kStartAnew =
    "use the checkpoint's setting, or start a new run in another --output";
// Advice for settings that must not change when a run resumes within an epoch, because they decide
// which images the rest of the epoch uses.
inline constexpr const char* kWithinEpoch =
    "use the checkpoint's setting, so that the epoch uses each image once, or resume from a "
    "checkpoint at the end of an epoch";

inline void add(std::vector<Option>& table, const std::string& group, std::vector<Option> rows) {
  for (Option& row : rows) {
    row.group = group;
    table.push_back(std::move(row));
  }
}

void add_data(std::vector<Option>& table);
void add_preprocessing(std::vector<Option>& table);
void add_small_data(std::vector<Option>& table);
void add_augmentation(std::vector<Option>& table);
void add_optimizer(std::vector<Option>& table);
void add_schedule(std::vector<Option>& table);
void add_machine(std::vector<Option>& table);
void add_output(std::vector<Option>& table);
void add_results(std::vector<Option>& table);
void add_export(std::vector<Option>& table);
void add_packing(std::vector<Option>& table);
void add_measuring(std::vector<Option>& table);

}  // namespace shoal::app
