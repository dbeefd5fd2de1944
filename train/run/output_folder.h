#pragma once
// The --output folder of a run, used by one run at a time.

#include <filesystem>

#include "base/file/file_lock.h"

namespace shoal::train {

class OutputFolder {
 public:
  // Creates the folder and locks it against other runs. Throws std::runtime_error if another run
  // uses it. If the folder cannot be created, the first write to it fails and is reported. If it
  // cannot be locked for another reason, logs a warning and continues without a lock.
  explicit OutputFolder(const std::filesystem::path& folder);
  // Removes the folder if this object created it and the run wrote nothing to it, because its start
  // failed.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

 private:
  const std::filesystem::path folder_;
  const bool created_;
  const FileLock lock_;
};

}  // namespace shoal::train
