#pragma once
// A file that grows at its end. For the writer of packed sets.

#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace shoal::data {

// Not a write_whole(): a packed set is written for hours and continued after an interruption, so
// its unfinished file must stay. publish() gives it its name. Every method throws
// std::runtime_error with the path and the system's reason.
class OutputFile {
 public:
  explicit OutputFile(std::string path);  // opens or creates it; keeps its content

  uint64_t end() const { return end_; }
  void append(const void* bytes, size_t size);
  void write_at(uint64_t offset, const void* bytes, size_t size);
  std::vector<uint8_t> read(uint64_t offset, size_t size) const;  // fewer bytes at the end
  void truncate(uint64_t size);
  void flush();                           // to disk
  void publish(const std::string& path);  // flushes, closes and renames it; the last call

 private:
  void seek(uint64_t offset);
  [[noreturn]] void fail(const char* what, int error) const;

  std::string path_;
  Descriptor file_;  // its position is the end
  uint64_t end_ = 0;
};

}  // namespace shoal::data
