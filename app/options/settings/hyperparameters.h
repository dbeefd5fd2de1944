#pragma once
// Reads hyperparameters from SageMaker's file and from the variables of its toolkits. Does not use
// LibTorch.
//
//   BASE/input/config/hyperparameters.json   an object of strings, raw or encoded once more as JSON
//                                            ("\"sgd\"", "0.1", "true"), depending on the SDK
//   SM_HPS                                   the toolkit's object of typed values
//   SM_HP_NAME                               the toolkit's variable for one value
//
// BASE is SAGEMAKER_BASE_DIR, else /opt/ml (platform.h). Names may contain - or _. An empty value
// turns a flag on. null and None leave the option unchanged.

#include <string>
#include <vector>

#include "app/options/options.h"
#include "app/platform/files.h"
#include "dist/env/env.h"

namespace shoal::app {

struct Hyperparameters {
  // Options of `train`, in the order to apply them: SM_HP_*, SM_HPS, hyperparameters.json.
  std::vector<Setting> known;
  std::vector<std::string> other_tools;  // names that SDKs and tools add for themselves, sorted
  std::vector<std::string> unknown;      // names that match no option, sorted
  std::vector<std::string> empty;        // options whose value is null or None, sorted

  bool none() const {
    return known.empty() && other_tools.empty() && unknown.empty() && empty.empty();
  }
};

// Collects the hyperparameters of all sources. Throws UserError if a source is not a JSON object or
// gives one option two different values.
Hyperparameters hyperparameters(const dist::Variables& environment, const Files& files);

// Returns one sentence that lists the unknown names, each with the most similar option; empty if
// there are none. `with_ignored`: also lists all.other_tools and all.empty.
std::string unknown_hyperparameters(const Hyperparameters& all, bool with_ignored);

}  // namespace shoal::app
