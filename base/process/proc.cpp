#include "base/process/proc.h"

#include <fstream>
#include <sstream>

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

double proc_number(const fs::path& file, const std::string& key) {
  double number = 0;
  return std::istringstream(proc_value(file, key)) >> number ? number : -1;
}

std::string first_line(const fs::path& file) {
  std::ifstream lines(file);
  std::string line;
  std::getline(lines, line);
  return line;
}

fs::path program_folder() {
  return fs::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace shoal
