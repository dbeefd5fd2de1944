#pragma once
// A made-up tree of folders and files for what asks app::Files.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/platform/files.h"

namespace shoal::test {

// `folders` exist with all that they lie in; so do the folders of `files` (path → content).
app::Files fake(const std::vector<std::string>& folders,
                const std::map<std::string, std::string>& files);

}  // namespace shoal::test
