#pragma once
// One writer per folder: a lock that the kernel gives back when its holder ends, however it ends.
// Torch-free.

#include <filesystem>

namespace shoal::train {

class FileLock {
 public:
  FileLock() = default;  // holds nothing
  // Makes the file and locks it, waiting up to `seconds` for a holder that is just ending. Throws
  // std::runtime_error "another run is writing to FOLDER; …" naming the file's folder. File systems
  // that know no locks (some network mounts) and folders that cannot be written are let pass: what
  // is written there later says what is wrong.
  explicit FileLock(const std::filesystem::path& file, double seconds = 5);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;

  bool held() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

}  // namespace shoal::train
