#pragma once
// File system access of the settings, as a value that tests replace by a made-up tree.

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shoal::app {

struct Files {
  std::function<bool(const std::string& path)> is_folder;
  // Names of the sub-folders, sorted; empty if the path is no folder or cannot be read.
  std::function<std::vector<std::string>(const std::string& path)> folders;
  // The content of a file, or nothing if it cannot be opened.
  std::function<std::optional<std::string>(const std::string& path)> read;
};

Files real_files();

}  // namespace shoal::app
