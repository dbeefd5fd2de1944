#pragma once
// Sources of bytes that are read once, from front to back.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/file.h"

namespace shoal::data {

// Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Reads the next bytes into `to`. Returns their number: fewer than `bytes` only at the end.
  // Throws std::runtime_error for system errors.
  virtual size_t read(void* to, size_t bytes) = 0;
  // Skips the next bytes. Returns their number: fewer than `bytes` only at the end.
  virtual uint64_t skip(uint64_t bytes);
  virtual uint64_t position() const = 0;        // bytes read and skipped so far
  virtual const std::string& name() const = 0;  // for messages
};

// The bytes [begin, end) of `file`, which must outlive the source. position() counts from the
// beginning of the file.
class FileSource : public ByteSource {
 public:
  FileSource(const File& file, uint64_t begin, uint64_t end) : file_(file), at_(begin), end_(end) {}
  explicit FileSource(const File& file)
      : FileSource(file, 0, static_cast<uint64_t>(file.stamp().bytes)) {}

  size_t read(void* to, size_t bytes) override;
  uint64_t skip(uint64_t bytes) override;
  uint64_t position() const override { return at_; }
  const std::string& name() const override { return file_.path(); }

 private:
  const File& file_;
  uint64_t at_, end_;
};

// Adds peek() to `source`, which must outlive this object.
class PeekSource : public ByteSource {
 public:
  explicit PeekSource(ByteSource& source) : source_(source) {}
  // Returns at least the next `bytes` bytes (fewer only at the end) without consuming them. The
  // result is valid until peek(), read() or skip() is called. Throws what the source throws.
  const std::vector<uint8_t>& peek(size_t bytes);

  size_t read(void* to, size_t bytes) override;
  uint64_t position() const override { return source_.position() - (head_.size() - taken_); }
  const std::string& name() const override { return source_.name(); }

 private:
  ByteSource& source_;
  std::vector<uint8_t> head_;
  size_t taken_ = 0;
};

// The next `bytes` bytes of `source`, which must outlive this object. position() is the position of
// `source`.
class LimitedSource : public ByteSource {
 public:
  LimitedSource(ByteSource& source, uint64_t bytes, std::string name)
      : source_(source), end_(source.position() + bytes), name_(std::move(name)) {}

  size_t read(void* to, size_t bytes) override;
  uint64_t position() const override { return source_.position(); }
  const std::string& name() const override { return name_; }

 private:
  ByteSource& source_;
  uint64_t end_;
  std::string name_;
};

// Appends the next `count` bytes to `to`; returns false if the source has fewer. Allocates memory
// only as bytes arrive, so a wrong `count` from a damaged file cannot exhaust the memory.
bool append_bytes(ByteSource& source, uint64_t count, std::vector<uint8_t>& to);

}  // namespace shoal::data
