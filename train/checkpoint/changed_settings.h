#pragma once
// Compares the settings of a checkpoint with those of the run that resumes it. Does not use
// LibTorch.

#include <string>
#include <utility>
#include <vector>

#include "train/job/job.h"

namespace shoal::train {

// Returns the settings of `job` that differ from `saved`, such as "epochs 3 → 4, lr 0.05 → 0.01";
// empty if there are none. Throws UserError if a setting differs that must not differ
// (SavedSetting::may_differ). `within_epoch`: whether the checkpoint was saved before the end of an
// epoch. With --eval-only, only settings that evaluation depends on are compared. Settings that
// only one side has are ignored.
std::string changed_settings(const std::vector<std::pair<std::string, std::string>>& saved,
                             bool within_epoch, const ResolvedJob& job);

}  // namespace shoal::train
