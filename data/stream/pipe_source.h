#pragma once
// A named pipe, or a file that is read like one, from its first byte to its end.

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/byte_source.h"
#include "data/data_options.h"

namespace shoal::data {

// Wakes whoever waits in a PipeSource. Any thread.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  void raise();  // for good
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// The reading was ended by an Interrupt: nobody wants the rest.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

class PipeSource : public ByteSource {
 public:
  // Does not open yet: the first read() does, waits for the pipe to appear and for its writer. A
  // writer that opens it and closes it again has written an end.
  PipeSource(std::string path, std::shared_ptr<Interrupt> interrupt, const PipePatience& patience);
  ~PipeSource() override;  // the writer gets EPIPE

  // Throws Interrupted; std::runtime_error naming the pipe where the patience ends or the system
  // fails; std::invalid_argument for a path that is neither pipe nor file.
  size_t read(void* to, size_t bytes) override;
  uint64_t position() const override { return position_; }
  const std::string& name() const override { return path_; }

 private:
  void open();
  size_t fill();
  void wait_for_bytes(double seconds);
  void pause() const;

  std::string path_;
  std::shared_ptr<Interrupt> interrupt_;
  PipePatience patience_;
  int descriptor_ = -1;
  bool ended_ = false, heard_ = false;  // heard_: the writer has been there
  uint64_t position_ = 0;
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0, end_ = 0;  // of what is in it
};

// Appends the next `count` bytes; false when there are fewer. Memory grows with what comes, not
// with what a damaged length asks for.
bool append_bytes(ByteSource& source, uint64_t count, std::vector<uint8_t>& to);

// Another source whose first bytes can be looked at before they are read. It must outlive this.
class PeekSource : public ByteSource {
 public:
  explicit PeekSource(ByteSource& source) : source_(source) {}
  // The next bytes, which stay; fewer only at the end.
  const std::vector<uint8_t>& peek(size_t bytes);

  size_t read(void* to, size_t bytes) override;
  uint64_t position() const override { return source_.position() - (head_.size() - taken_); }
  const std::string& name() const override { return source_.name(); }

 private:
  ByteSource& source_;
  std::vector<uint8_t> head_;
  size_t taken_ = 0;
};

// The next `bytes` bytes of another source, as a source of their own. It must outlive this.
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

}  // namespace shoal::data
