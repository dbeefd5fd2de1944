#include "app/platform/files.h"

#include <algorithm>
#include <filesystem>

#include "base/file/folder.h"
#include "base/file/whole_file.h"

namespace shoal::app {

namespace fs = std::filesystem;

Files real_files() {
  Files files;
  files.is_folder = [](const std::string& path) {
    std::error_code error;
    return fs::is_directory(path, error);
  };
  files.folders = [](const std::string& path) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : entries_of(path, error)) {
      std::error_code gone;
      if (entry.is_directory(gone)) names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  files.read = [](const std::string& path) { return read_if_readable(path); };
  return files;
}

}  // namespace shoal::app
