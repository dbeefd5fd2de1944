#pragma once
// A lock file that allows one writer at a time. The kernel releases the lock when the process that
// holds it ends, even if it is killed.

#include <filesystem>
#include <string>

#include "base/file/descriptor.h"

namespace shoal {

class FileLock {
 public:
  FileLock() = default;  // holds no lock
  // Creates and locks `file`. Waits up to `seconds` for another process to release the lock, then
  // throws std::runtime_error "another run is writing to TARGET; wait until it has ended, or choose
  // another CHOICE". Logs a warning and succeeds without a lock if the file cannot be created or
  // opened (full disk, another user's file) or the file system has no locks (some network mounts).
  // If the folder does not exist, succeeds without a warning, because later writes report it.
  FileLock(const std::filesystem::path& file, const std::string& target, const std::string& choice,
           double seconds = 5);

  bool held() const { return descriptor_.is_open(); }  // also true if the file system has no locks
  void remove_file() const;  // deletes the file if held(); the lock lasts until destruction

 private:
  std::filesystem::path file_;
  Descriptor descriptor_;
};

}  // namespace shoal
