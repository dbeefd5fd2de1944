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

}  // namespace shoal::data
