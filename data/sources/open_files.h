#pragma once
// Many files of which only some are open at a time.

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/file.h"

namespace shoal::data {

// A file of a source, and what it was when its images were found.
struct SourceFile {
  std::string path;
  FileStamp stamp;
};

// Thread-safe.
class OpenFiles {
 public:
  // Keeps at most `most` files open, and those in callers' hands. What reads forward holds memory
  // for each (File).
  OpenFiles(std::vector<SourceFile> files, size_t most, Reads reads = Reads::seeking);

  // File number `file`, open until the caller lets it go. Throws std::runtime_error when it cannot
  // be opened or is no longer what it was.
  std::shared_ptr<const File> open(uint32_t file) const;
  // Those in callers' hands stay open as long as these hold them.
  void close_all() const;
  const SourceFile& at(uint32_t file) const { return files_[file]; }
  size_t open_now() const;  // files

 private:
  void used(uint32_t file) const;

  std::vector<SourceFile> files_;
  size_t most_;
  Reads reads_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const File>> open_;  // by number; null: closed
  mutable std::deque<uint32_t> order_;  // of opening; of use where that is forward
};

// A share of what the process may open that leaves room for everything else.
size_t open_files_limit();

// The paths with their stamps. Throws std::invalid_argument for what is no file.
std::vector<SourceFile> stamped(const std::vector<std::string>& paths);

}  // namespace shoal::data
