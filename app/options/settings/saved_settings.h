#pragma once
// Settings that change results: saving them in checkpoints and restoring them in a resumed run.
// Derived from the option table. Does not use LibTorch.

#include <string>
#include <utility>
#include <vector>

#include "app/options/options.h"

namespace shoal::app {

constexpr const char* kCheckpointOrigin = "checkpoint";  // origin of the restored settings

// Returns every setting of `job` that can change results, in the order of the option table,
// including settings without effect in this run. Omits options without a value, such as --weights
// if it is not given. Ends with facts about the data, such as the number of training images.
std::vector<train::SavedSetting> settings_of(const train::ResolvedJob& job);

// Restores the settings of a checkpoint, `saved`, except options that are already set
// (Arguments::origins) and options that one of these replaces (Saving::replaced_by). Overrides the
// values of a recipe that the user did not name (see kImagenetRecipe), settings that follow from
// --weights, and a --forward-reads that SageMaker's configuration set. With --eval-only, restores
// only options that affect evaluation. Throws UserError if this version does not accept a saved
// value. Special cases:
//
//   --batch-size auto  is replaced by the saved global batch size
//   --classes          is restored only if it differs from `data_classes`, the number of class
//                      names in the checkpoint
//   --accumulate       is not restored if both --batch-size and --global-batch-size are set,
//                      because resolve() computes it
//   --scale-lr         is removed if --lr is restored, because the saved learning rate is already
//                      scaled
void take_saved_settings(Arguments& arguments,
                         const std::vector<std::pair<std::string, std::string>>& saved,
                         size_t data_classes);

}  // namespace shoal::app
