#include "base/file/folder.h"

namespace shoal {
namespace fs = std::filesystem;

std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::error_code error;
  auto entries = entries_of(folder, error);
  if (error) throw std::system_error(error, "cannot read the folder " + folder.string());
  return entries;
}

std::vector<fs::directory_entry> entries_of(const fs::path& folder, std::error_code& error) {
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    entries.push_back(*at);
  return entries;
}

}  // namespace shoal
