#pragma once
// Compares the settings of a checkpoint with those of the run that resumes it. Torch-free.

#include <string>
#include <utility>
#include <vector>

#include "train/run/job.h"

namespace shoal::train {

// The settings of `job` that differ from `saved`, "epochs 3 → 4, lr 0.05 → 0.01"; empty: none.
// Each is compared by its own rule (SavedSetting::may_differ); with --eval-only only settings that
// evaluation depends on. Settings that only one side has are not compared. `within_epoch`: the
// checkpoint is not of an epoch's end. Throws UserError for a setting that may not differ.
std::string changed_settings(const std::vector<std::pair<std::string, std::string>>& saved,
                             bool within_epoch, const ResolvedJob& job);

}  // namespace shoal::train
