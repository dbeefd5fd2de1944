#pragma once
// A fake tree of folders and files for code that uses app::Files.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/platform/files.h"

namespace shoal::test {

// Returns a tree with `folders`, `files` (path → content) and all their parent folders.
app::Files fake(const std::vector<std::string>& folders,
                const std::map<std::string, std::string>& files);

}  // namespace shoal::test
