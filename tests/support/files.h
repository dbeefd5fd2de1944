#pragma once
// Reads and writes whole text files.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace shoal::test {

inline std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Creates missing folders above the file.
inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace shoal::test
