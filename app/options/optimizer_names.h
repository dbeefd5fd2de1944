#pragma once
// Names of the optimizers (ops/optimizers.def) for help and messages.

#include <string>
#include <vector>

#include "ops/optimizers.h"

namespace shoal::app {

// Returns the name or title of each optimizer that has any of the OptimizerUses bits in `uses`.
// Equal titles of consecutive optimizers are returned once. `text`: the member to return.
inline std::vector<std::string> optimizers_with(unsigned uses,
                                                const char* ops::OptimizerInfo::*text) {
  std::vector<std::string> texts;
  for (const ops::OptimizerInfo& info : ops::kOptimizers)
    if (info.uses & uses && (texts.empty() || texts.back() != info.*text))
      texts.push_back(info.*text);
  return texts;
}

}  // namespace shoal::app
