#pragma once
// The few questions that settings ask a file system, as a value: tests hand in a made-up tree.

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shoal::app {

struct Files {
  std::function<bool(const std::string& path)> is_folder;
  // Names of the folders in a folder, sorted; none when it is no folder or cannot be read.
  std::function<std::vector<std::string>(const std::string& path)> folders;
  // The bytes of a file; nothing when there is none.
  std::function<std::optional<std::string>(const std::string& path)> read;
};

Files real_files();

}  // namespace shoal::app
