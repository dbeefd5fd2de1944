#include "train/run/output_folder.h"

#include <system_error>

#include "base/file/folder.h"
#include "train/report/sinks.h"

namespace shoal::train {
namespace fs = std::filesystem;
namespace {

bool make_folder(const fs::path& folder) {
  std::error_code error;  // ignored: the first write to the folder fails and is reported
  return fs::create_directories(folder, error);
}

// Whether the folder contains nothing but the lock. Returns false if it cannot be read.
bool is_unused(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : entries_of(folder, error))
    if (entry.path().filename() != kRunLock) return false;
  return !error;
}

}  // namespace

OutputFolder::OutputFolder(const fs::path& folder)
    : folder_(folder),
      created_(make_folder(folder)),
      lock_(folder / kRunLock, folder.string(), "--output") {}

OutputFolder::~OutputFolder() {
  if (!created_ || !is_unused(folder_)) return;
  lock_.remove_file();
  std::error_code error;  // ignored: an empty folder that stays does no harm
  fs::remove(folder_, error);
}

}  // namespace shoal::train
