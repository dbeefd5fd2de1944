#pragma once
// Unpacks golden files.

#include <zlib.h>

#include <filesystem>
#include <stdexcept>
#include <vector>

namespace shoal::test {

// Returns the content of a gzip file.
inline std::vector<char> gunzip(const std::filesystem::path& path) {
  gzFile const file = ::gzopen(path.c_str(), "rb");
  if (!file) throw std::runtime_error("cannot open " + path.string());
  std::vector<char> content, part(1 << 20);
  int count = 0;
  while ((count = ::gzread(file, part.data(), static_cast<unsigned>(part.size()))) > 0)
    content.insert(content.end(), part.begin(), part.begin() + count);
  ::gzclose(file);
  if (count < 0) throw std::runtime_error(path.string() + " is damaged");
  return content;
}

}  // namespace shoal::test
