#pragma once
// Hyperparameters as the platform and its toolkits hand them over. Torch-free.
//
//   BASE/input/config/hyperparameters.json   an object of strings, which SDKs encode once more as
//                                            JSON ("\"sgd\"", "0.1", "true") or leave raw
//   SM_HPS                                   the toolkit's object of typed values
//   SM_HP_NAME                               the toolkit's variable per value
//
// Names may have - or _; an empty value is a switch that is on; null and None are no value.

#include <string>
#include <vector>

#include "app/options/options.h"
#include "app/platform/files.h"
#include "dist/env/env.h"

namespace shoal::app {

struct Hyperparameters {
  // What `train` understands, in the order to apply it: SM_HP_*, SM_HPS, hyperparameters.json.
  std::vector<Setting> known;
  std::vector<std::string> platforms;  // names that belong to SDKs and tools, sorted
  std::vector<std::string> unknown;    // of nobody, sorted
  std::vector<std::string> empty;      // of `train`, but null or None, sorted
};

// Throws UserError naming the file or variable that is no JSON object, or that names one of
// our options twice with two values.
Hyperparameters hyperparameters(const dist::Variables& environment, const Files& files);

// One sentence about the names that nobody here knows, with the nearest option of each; empty when
// there are none. `with_platforms`: also about those that are not meant for us or have no value.
std::string unknown_hyperparameters(const Hyperparameters& all, bool with_platforms);

}  // namespace shoal::app
