#include "data/lists/list_file.h"

#include <cstdint>
#include <stdexcept>

#include "data/file.h"

namespace shoal::data {

std::string read_list(const std::string& path) {
  constexpr int64_t kMaxBytes = int64_t{1} << 30;
  const File file(path);
  const int64_t bytes = file.stamp().bytes;
  if (bytes > kMaxBytes)
    throw std::invalid_argument(path + " is larger than 1 GiB, the limit for a list");
  std::string text(static_cast<size_t>(bytes), '\0');
  text.resize(static_cast<size_t>(file.read_at(0, text.data(), bytes)));
  return text;
}

std::string folder_of_list(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace shoal::data
