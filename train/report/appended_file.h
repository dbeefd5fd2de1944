#pragma once
// A file that a run appends to. Keeps working if the disk is full for a while, or if the file is
// removed or replaced. Appends in place: write_whole() would rewrite the file for every row. Not
// thread-safe. Does not use LibTorch.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/file/descriptor.h"

namespace shoal::train {

class AppendedFile {
 public:
  // Replaces the file's content with `content` and opens the file. An interruption leaves either
  // the old or the new content. Creates the folder. Throws std::system_error with path and reason.
  AppendedFile(std::filesystem::path path, const std::string& content);

  // Continues a file. The first append() opens or creates it, in an existing folder, and removes an
  // incomplete last line, which a killed run or a full disk may leave. Call bytes() only after
  // append().
  explicit AppendedFile(std::filesystem::path path);
  // Logs a warning if bytes are still unwritten, or if the file system reports a failed write only
  // at close, as on NFS.
  ~AppendedFile();

  // Appends bytes, normally with one write(2). Bytes that cannot be written stay in memory, and the
  // next call tries again; only the first of consecutive failures logs a warning. If the file was
  // removed or replaced, writes the whole file again.
  void append(std::string_view bytes);
  // Tries again to write bytes that could not be written.
  void flush() { append({}); }

  // Returns all bytes, including those that could not be written yet. Throws std::system_error if
  // the file cannot be read.
  std::string bytes() const;

 private:
  void open_lines();
  bool is_in_place() const;

  std::filesystem::path path_;
  Descriptor file_;
  std::string unwritten_;  // bytes that could not be written yet
  bool failing_ = false;   // the last write failed, and the failure was logged
};

}  // namespace shoal::train
