#pragma once
// Compares the settings of a checkpoint with those of the run that resumes it. Does not use
// LibTorch.

#include <string>
#include <utility>
#include <vector>

#include "train/job/job.h"

namespace shoal::train {

// Returns the settings of `job` that differ from `saved`, such as "epochs 3 → 4, lr 0.05 → 0.01";
// empty if none differ. Throws UserError for a change that SavedSetting::may_differ forbids.
// `without_effect`: names of saved settings that had no effect. `within_epoch`: whether the
// checkpoint was saved in the middle of an epoch. With --eval-only, compares only settings that
// affect evaluation and must never change. Ignores settings that only one side has.
std::string changed_settings(const std::vector<std::pair<std::string, std::string>>& saved,
                             const std::vector<std::string>& without_effect, bool within_epoch,
                             const ResolvedJob& job);

}  // namespace shoal::train
