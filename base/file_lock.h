#pragma once
// A lock that allows one writer per place. The kernel releases it when its holder ends, even if
// killed.

#include <filesystem>
#include <string>

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
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;

  bool held() const { return descriptor_ >= 0; }
  void remove_file() const;  // keeps the lock until destruction

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace shoal
