#pragma once
// The entries of --help, which manual pages use too. Does not use LibTorch.

#include <string>
#include <vector>

#include "app/options/options.h"

namespace shoal::app {

// An option, a recipe or an exit code.
struct HelpEntry {
  std::string section, left, right;  // "Data", "  --data DIR", "Folder with …"
  bool common = false;               // whether plain --help shows it
};

// Returns the entries in the order of --help.
std::vector<HelpEntry> help_entries(Command command);

}  // namespace shoal::app
