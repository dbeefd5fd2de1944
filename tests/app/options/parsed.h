#pragma once
// Parses a command line of `shoal train`.

#include <string>
#include <vector>

#include "app/options/options.h"

namespace shoal::test {

inline app::Arguments parsed(const std::vector<std::string>& words,
                             const std::vector<app::Setting>& settings = {}) {
  return app::parse(app::Command::train, words, settings);
}

}  // namespace shoal::test
