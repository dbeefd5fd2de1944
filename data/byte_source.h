#pragma once
// Bytes that are read once, from front to back.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/file.h"

namespace shoal::data {

// One thread at a time.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `to` with the next bytes; fewer than `bytes` only at the end. Throws std::runtime_error
  // where the system fails.
  virtual size_t read(void* to, size_t bytes) = 0;
  // Passes over the next bytes; returns how many there were, fewer than `bytes` only at the end.
  virtual uint64_t skip(uint64_t bytes);
  virtual uint64_t position() const = 0;        // bytes read and passed over so far
  virtual const std::string& name() const = 0;  // for messages
};

// How a file is read from front to back.
enum class Reads {
  seeking,  // what is passed over is not read
  forward   // everything is, in pieces of 4 MiB: for file systems that fetch what is read next
};

// A stretch of a file. The file must outlive it.
class FileSource : public ByteSource {
 public:
  // [begin, end) of `file`; position() counts from the file's beginning.
  FileSource(const File& file, uint64_t begin, uint64_t end, Reads reads = Reads::seeking);

  size_t read(void* to, size_t bytes) override;
  uint64_t skip(uint64_t bytes) override;
  uint64_t position() const override { return at_; }
  const std::string& name() const override { return file_.path(); }

 private:
  size_t read_forward(uint8_t* to, size_t bytes);

  const File& file_;
  uint64_t at_, end_;
  Reads reads_;
  std::vector<uint8_t> ahead_;                // forward: the piece that holds `at_`
  uint64_t piece_begin_ = 0, piece_end_ = 0;  // of it, in the file
};

}  // namespace shoal::data
