#pragma once
// A file that grows at its end, with errors that name it. For the writer of packed sets.

#include <cstdint>
#include <string>
#include <vector>

namespace shoal::data {

// Every method throws std::runtime_error with path and reason.
class OutputFile {
 public:
  OutputFile(std::string path, bool anew);  // anew: without what was in it
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  uint64_t end() const { return end_; }
  void append(const void* bytes, size_t size);
  void write_at(uint64_t offset, const void* bytes, size_t size);
  std::vector<uint8_t> read(uint64_t offset, size_t size) const;  // fewer where the file ends
  void cut(uint64_t size);
  void flush();  // to the disk

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  int descriptor_ = -1;
  uint64_t end_ = 0;
};

}  // namespace shoal::data
