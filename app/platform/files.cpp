#include "app/platform/files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/file/descriptor.h"
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
  files.read = [](const std::string& path) {
    errno = 0;
    auto text = read_if_readable(path);
    const int problem = errno;
    std::error_code error;
    if (!text && problem != ENOENT && problem != ENOTDIR && !fs::is_directory(path, error))
      throw_file_error("read", path, problem);
    return text;
  };
  return files;
}

}  // namespace shoal::app
