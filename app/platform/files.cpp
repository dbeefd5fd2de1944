#include "app/platform/files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

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
    for (fs::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
      std::error_code gone;
      if (entry->is_directory(gone)) names.push_back(entry->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  files.read = [](const std::string& path) -> std::optional<std::string> {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  };
  return files;
}

}  // namespace shoal::app
