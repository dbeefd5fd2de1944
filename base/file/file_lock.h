#pragma once
// A lock file that allows one writer at a time. When a process ends or is killed, the kernel
// releases its lock.

#include <filesystem>
#include <string>

#include "base/file/descriptor.h"

namespace shoal {

// Whether `file` is absent, cannot be read, is empty, or has the content that FileLock writes.
// Files with other content belong to other programs.
bool is_lock_file(const std::filesystem::path& file);

class FileLock {
 public:
  FileLock() = default;  // holds no lock
  // Creates and locks `file`, and writes this process's ID and host into it for other processes.
  // Waits up to `seconds` for the lock, then throws like require_unlocked() with `target` and
  // `choice`. Logs a warning and succeeds without a lock if the file cannot be created or opened
  // (full disk, another user's file) or the file system has no locks (some network mounts). If the
  // folder does not exist, succeeds without a warning, because later writes report it.
  FileLock(const std::filesystem::path& file, const std::string& target, const std::string& choice,
           double seconds = 5);

  bool held() const { return descriptor_.is_open(); }  // also true if the file system has no locks
  void remove_file() const;                            // deletes the file if held(); keeps the lock

 private:
  std::filesystem::path file_;
  Descriptor descriptor_;
};

// Deletes a lock's file at the end of a scope. Must be destroyed before the lock.
class LockFileRemoval {
 public:
  explicit LockFileRemoval(const FileLock& lock) : lock_(lock) {}
  ~LockFileRemoval() { lock_.remove_file(); }
  LockFileRemoval(const LockFileRemoval&) = delete;
  LockFileRemoval& operator=(const LockFileRemoval&) = delete;

 private:
  const FileLock& lock_;
};

// Whether a FileLock in this or another process holds the lock `file`.
bool is_locked(const std::filesystem::path& file);

// If is_locked(file), throws std::runtime_error "another run is writing to TARGET (process P on
// HOST); wait until it has ended, or choose another CHOICE".
void require_unlocked(const std::filesystem::path& file, const std::string& target,
                      const std::string& choice);

}  // namespace shoal
