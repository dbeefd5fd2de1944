#pragma once
// Read access to configuration files and their folders. Tests replace it with a fake folder tree.

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shoal::app {

struct Files {
  std::function<bool(const std::string& path)> is_folder;
  // Names of the sub-folders, sorted; empty if the path is not a folder or cannot be read.
  std::function<std::vector<std::string>(const std::string& path)> folders;
  // Content of a file; nothing if it cannot be opened.
  std::function<std::optional<std::string>(const std::string& path)> read;
};

Files real_files();

}  // namespace shoal::app
