#pragma once
// Bytes that are read once, from front to back.

#include <cstddef>
#include <cstdint>
#include <string>

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

// A stretch of a file. The file must outlive it.
class FileSource : public ByteSource {
 public:
  // [begin, end) of `file`; position() counts from the file's beginning.
  FileSource(const File& file, uint64_t begin, uint64_t end) : file_(file), at_(begin), end_(end) {}

  size_t read(void* to, size_t bytes) override;
  uint64_t skip(uint64_t bytes) override;
  uint64_t position() const override { return at_; }
  const std::string& name() const override { return file_.path(); }

 private:
  const File& file_;
  uint64_t at_, end_;
};

}  // namespace shoal::data
