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
  // Content of a file; nullopt if the path does not exist or is a folder. real_files() throws
  // std::system_error if the file cannot be read, because the run must not start without its
  // settings.
  std::function<std::optional<std::string>(const std::string& path)> read;
};

Files real_files();

}  // namespace shoal::app
