#pragma once
// Settings that change results: what a checkpoint keeps of them, and what a resumed run takes over.
// Derived from the table of options. Torch-free.

#include <string>
#include <utility>
#include <vector>

#include "app/options/options.h"

namespace shoal::app {

// Every setting of `job` that can change results, in the order of the table, also those without
// effect in this run.
std::vector<train::SavedSetting> settings_of(const train::ResolvedJob& job);

// Gives every option that nobody named (it has no origin yet) its value in `saved`, the settings of
// a checkpoint. `data_classes`: number of class names in the checkpoint; --classes is taken over
// only if it asked for more. With --eval-only only options that evaluation depends on are taken
// over. Throws UserError when this version does not accept a value.
void take_saved_settings(Arguments& arguments,
                         const std::vector<std::pair<std::string, std::string>>& saved,
                         size_t data_classes);

}  // namespace shoal::app
