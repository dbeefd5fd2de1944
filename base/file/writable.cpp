#include "base/file/writable.h"

#include "base/error.h"
#include "base/file/whole_file.h"

namespace shoal {
namespace fs = std::filesystem;

void require_writable_folder(const std::string& option, const fs::path& path) {
  const std::string what = option + " " + path.string() + ": ";
  const fs::path place = existing_parent(path);
  std::error_code none;
  if (!fs::is_directory(place, none))
    throw UserError(what + place.string() + " is a file; name a folder");
  if (!can_create_in(place))
    throw UserError(what + "cannot write to " + place.string() + "; choose another folder");
}

void require_writable_file(const std::string& option, const fs::path& path) {
  const std::string what = option + " " + path.string();
  const fs::path folder = parent_folder(path);
  std::error_code none;
  if (fs::is_directory(path, none)) throw UserError(what + " is a folder; name a file");
  if (is_special(path)) return;
  if (!fs::is_directory(folder, none))
    throw UserError(what + ": there is no folder " + folder.string() + "; create it first");
  if (!can_create_in(folder))
    throw UserError(what + ": cannot write to " + folder.string() + "; choose another folder");
}

}  // namespace shoal
