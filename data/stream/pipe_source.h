#pragma once
// Reads a named pipe from its first byte to its end. Also accepts a regular file.

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/byte_source.h"
#include "data/data_options.h"

namespace shoal::data {

// Interrupts a thread that waits in a PipeSource. Thread-safe.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  void raise();  // makes the current and all later reads throw Interrupted
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// Thrown by reads after Interrupt::raise().
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

class PipeSource : public ByteSource {
 public:
  // The first read() waits for the pipe to appear, opens it, and waits for the first bytes. The
  // stream ends when the last writer closes the pipe, even if nothing was written.
  PipeSource(std::string path, std::shared_ptr<Interrupt> interrupt, const PipePatience& patience);
  ~PipeSource() override;  // closes the pipe; writers then get EPIPE

  // Throws Interrupted after Interrupt::raise(), std::runtime_error naming the pipe after a timeout
  // (PipePatience) or for system errors, std::invalid_argument if the path is neither a pipe nor a
  // file.
  size_t read(void* to, size_t bytes) override;
  uint64_t position() const override { return position_; }
  const std::string& name() const override { return path_; }

 private:
  void open();
  size_t fill();
  void require_patience(double start) const;
  void pause() const;

  std::string path_;
  std::shared_ptr<Interrupt> interrupt_;
  PipePatience patience_;
  int descriptor_ = -1;
  bool ended_ = false;
  bool opened_ = false;  // a writer has opened the pipe
  uint64_t position_ = 0;
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0, end_ = 0;  // range of the unread bytes in buffer_
};

}  // namespace shoal::data
