#include "base/process/proc.h"

#include <fstream>

namespace shoal {
namespace fs = std::filesystem;

std::string proc_value(const fs::path& file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (line.starts_with(key) && colon != line.npos && colon + 2 <= line.size())
      return line.substr(colon + 2);
  }
  return "";
}

fs::path program_folder() {
  return fs::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace shoal
