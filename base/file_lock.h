#pragma once
// A lock that allows one writer per place. The kernel releases it when its holder ends, even if
// killed.

#include <filesystem>
#include <string>

#include "base/descriptor.h"

namespace shoal {

class FileLock {
 public:
  FileLock() = default;  // holds no lock
  // Creates and locks the file. Waits up to `seconds` for a holder that is about to end, then
  // throws std::runtime_error "another run is writing to TARGET; wait until it has ended, or choose
  // another CHOICE". Succeeds without a lock on file systems that have none (some network mounts)
  // and in folders that cannot be written: later writes report the error.
  FileLock(const std::filesystem::path& file, const std::string& target, const std::string& choice,
           double seconds = 5);

  bool held() const { return descriptor_.is_open(); }
  void remove_file() const;  // keeps the lock until destruction

 private:
  std::filesystem::path file_;
  Descriptor descriptor_;
};

}  // namespace shoal
