#pragma once
// Hyperparameters from SageMaker and its toolkits. Torch-free.
//
//   BASE/input/config/hyperparameters.json   an object of strings, raw or encoded once more as JSON
//                                            ("\"sgd\"", "0.1", "true"), depending on the SDK
//   SM_HPS                                   the toolkit's object of typed values
//   SM_HP_NAME                               the toolkit's variable for one value
//
// Names may contain - or _. An empty value turns a flag on. null and None are no value.

#include <string>
#include <vector>

#include "app/options/options.h"
#include "app/platform/files.h"
#include "dist/env/env.h"

namespace shoal::app {

struct Hyperparameters {
  // Options of `train`, in the order to apply them: SM_HP_*, SM_HPS, hyperparameters.json.
  std::vector<Setting> known;
  std::vector<std::string> platforms;  // names that SDKs and tools use, sorted
  std::vector<std::string> unknown;    // names that are no options, sorted
  std::vector<std::string> empty;      // options given as null or None, sorted
};

// Throws UserError if a file or variable is no JSON object or gives one option two values.
Hyperparameters hyperparameters(const dist::Variables& environment, const Files& files);

// One sentence that lists the unknown names with the nearest option of each; empty if there are none.
// `with_platforms`: also lists the names that SDKs use and those without a value.
std::string unknown_hyperparameters(const Hyperparameters& all, bool with_platforms);

}  // namespace shoal::app
