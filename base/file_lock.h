#pragma once
// One writer per place: a lock that the kernel gives back when its holder ends, however it ends.

#include <filesystem>
#include <string>

namespace shoal {

class FileLock {
 public:
  FileLock() = default;  // holds nothing
  // Makes the file and locks it, waiting up to `seconds` for a holder that is just ending. Throws
  // std::runtime_error "another run is writing to TARGET; wait until it has ended, or choose another
  // CHOICE". File systems that know no locks (some network mounts) and folders that cannot be
  // written are let pass: what is written there later says what is wrong.
  FileLock(const std::filesystem::path& file, const std::string& target, const std::string& choice,
           double seconds = 5);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;

  bool held() const { return descriptor_ >= 0; }
  void remove_file() const;  // the lock is kept until its end

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace shoal
