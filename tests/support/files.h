#pragma once
// Reads, writes and replaces whole files, and searches texts.

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
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

// Replaces a file by a pipe without a writer. Atomic: the path always names the file or the pipe.
inline void replace_by_pipe(const std::filesystem::path& file) {
  const std::filesystem::path pipe = file.string() + ".pipe";
  if (::mkfifo(pipe.c_str(), 0600) != 0) throw std::runtime_error("cannot create " + pipe.string());
  std::filesystem::rename(pipe, file);
}

// Returns how often `part` occurs in `text`.
inline int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace shoal::test
