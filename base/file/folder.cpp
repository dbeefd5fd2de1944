#include "base/file/folder.h"

#include <algorithm>

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

fs::file_type type_of(const fs::directory_entry& entry) {
  std::error_code error;
  // The next two checks need no system call if the folder's listing contained the type.
  if (entry.is_regular_file(error)) return fs::file_type::regular;
  if (!error && entry.is_directory(error)) return fs::file_type::directory;
  const fs::file_type type = entry.status(error).type();
  if (error == std::errc::too_many_symbolic_link_levels) return fs::file_type::not_found;
  if (error && type == fs::file_type::none)
    throw fs::filesystem_error("cannot examine", entry.path(), error);
  return type;
}

bool path_exists(const fs::path& path) {
  std::error_code unknown;
  return fs::exists(path, unknown);
}

namespace {

// Returns the absolute path as written, without a slash at its end.
fs::path written(const fs::path& path) {
  std::error_code error;  // ignored: on failure, absolute() returns ""
  return fs::absolute(path / "", error).lexically_normal().parent_path();
}

}  // namespace

fs::path real_path(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error || real.empty()) return written(path);
  return real.has_filename() ? real : real.parent_path();
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  const auto contains = [](const fs::path& outer, const fs::path& inner) {
    return !outer.empty() && std::ranges::mismatch(outer, inner).in1 == outer.end();
  };
  return contains(written(folder), written(path)) || contains(real_path(folder), real_path(path));
}

}  // namespace shoal
