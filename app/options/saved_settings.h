#pragma once
// What a continued run takes over from its checkpoint. Torch-free.

#include <string>
#include <utility>
#include <vector>

#include "app/options/options.h"

namespace shoal::app {

// Sets every option that nobody named (it has no origin yet) to what `saved` says: name and value
// of everything that changes a result, as ResolvedJob::settings() made them. `data_classes`: class
// names the checkpoint has; only a --classes that asked for more is taken over. With --eval-only
// only the model and the images' sizes count. Throws UserError when a value is not one of
// this version's.
void take_saved_settings(Arguments& arguments,
                         const std::vector<std::pair<std::string, std::string>>& saved,
                         size_t data_classes);

}  // namespace shoal::app
