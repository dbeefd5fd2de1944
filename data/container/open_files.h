#pragma once
// Opens files on demand and keeps a limited number of them open.

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/file.h"

namespace shoal::data {

// A file of a source, and its stamp at the time when its images were listed.
struct SourceFile {
  std::string path;
  FileStamp stamp;
};

// Thread-safe.
class OpenFiles {
 public:
  // Keeps up to `most` files open (one if `most` is 0), besides those that callers still hold.
  // With Reads::forward, each open file needs 8 MiB of memory (see Reads).
  OpenFiles(std::vector<SourceFile> files, size_t most, Reads reads = Reads::seeking);

  // Returns file number `file`, open until the caller releases it. Throws std::runtime_error if it
  // cannot be opened or has changed since it was listed.
  std::shared_ptr<const File> open(uint32_t file) const;
  // Closes all files. Those that callers hold stay open until the callers release them.
  void close_all() const;
  const SourceFile& at(uint32_t file) const { return files_[file]; }
  size_t open_now() const;  // number of files kept open

 private:
  void used(uint32_t file) const;

  std::vector<SourceFile> files_;
  size_t most_;
  Reads reads_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const File>> open_;  // by file number; null if closed
  // The open files, in the order in which they will be closed. A newly opened file is added at the
  // end. With Reads::forward, a file that is used again also moves to the end.
  mutable std::deque<uint32_t> order_;
};

// Returns how many files may be kept open: a quarter of RLIMIT_NOFILE, from 1 to 1024.
size_t open_files_limit();

// Returns the paths with their stamps. Throws std::invalid_argument if a path is not a regular
// file, FileFailure if it cannot be opened.
std::vector<SourceFile> stamped(const std::vector<std::string>& paths);

}  // namespace shoal::data
