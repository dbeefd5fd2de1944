#pragma once
// An output file that can be continued after an interruption. For the writer of packed sets.

#include <cstdint>
#include <string>
#include <vector>

#include "base/file/descriptor.h"

namespace shoal::data {

// Unlike write_whole(), keeps an unfinished file, because packing can take hours. publish() gives
// the file its final name. Every function throws std::runtime_error with the path and the system's
// reason if a system call fails.
class OutputFile {
 public:
  explicit OutputFile(std::string path);  // opens or creates the file; keeps its content

  uint64_t end() const { return end_; }
  void append(const void* bytes, size_t size);
  void write_at(uint64_t offset, const void* bytes, size_t size);
  std::vector<uint8_t> read(uint64_t offset, size_t size) const;  // fewer bytes at the file's end
  void truncate(uint64_t size);
  void flush();  // writes the content to disk (fsync)
  // Flushes the file, closes it and renames it to `path`. Must be the last call.
  void publish(const std::string& path);

 private:
  void seek(uint64_t offset);

  std::string path_;
  Descriptor file_;  // between calls, its offset is end_
  uint64_t end_ = 0;
};

}  // namespace shoal::data
