#pragma once
// Helpers for the tests of data/stream: pipes and processes that write them.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/stream/record_stream.h"
#include "tests/data/support.h"

namespace shoal::data {

void make_pipe(const std::string& path);

// A process that opens `path` for writing, calls `write` with its descriptor and exits. SIGPIPE kills
// it.
class WriterProcess {
 public:
  WriterProcess(const std::string& path, const std::function<void(int descriptor)>& write);
  // Writes `text` and exits.
  WriterProcess(const std::string& path, const std::string& text);
  ~WriterProcess();  // kills it
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;

  void kill();  // sends SIGKILL and waits
  int wait();   // exit code, or 128 + signal

 private:
  pid_t process_;
};

void write_text(int descriptor, const std::string& text);

// "LABEL NAME CONTENT" of each image, the name without anything before its last slash or colon;
// a damaged one is "LABEL NAME (DAMAGE)".
std::vector<std::string> described(RecordStream& stream);

// The same for bytes in memory, read in small pieces.
std::vector<std::string> streamed(const std::string& bytes, const std::vector<std::string>& classes,
                                  const std::string& tfrecord_keys = "");
std::string error_of_stream(const std::string& bytes, const std::vector<std::string>& classes,
                            const std::string& tfrecord_keys = "");

std::vector<int32_t> sorted(std::vector<int32_t> labels);

// Batches of 4 images of 24 × 24 pixels.
LoaderOptions small(bool train = true);
// Classes c100 … c149.
OpenOptions opening(int64_t shuffle_buffer = 8);
// A tar of `count` images, image i of class i (modulo 50); number `damaged` is not an image.
std::string tar_of(int64_t count, int64_t damaged = -1);

}  // namespace shoal::data
