#pragma once
// Helpers for the tests of data/stream: pipes and processes that write to them.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/sources/any_stream.h"
#include "tests/data/support.h"

namespace shoal::data {

void make_pipe(const std::string& path);

// A child process that opens `path` for writing, calls `write` with the descriptor and exits.
// SIGPIPE kills it.
class WriterProcess {
 public:
  WriterProcess(const std::string& path, const std::function<void(int descriptor)>& write);
  // Writes `text` and exits.
  WriterProcess(const std::string& path, const std::string& text);
  ~WriterProcess();  // kills the process
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;

  void kill();  // sends SIGKILL and waits
  int wait();   // returns the exit code, or 128 + signal

 private:
  pid_t process_;
};

void write_text(int descriptor, const std::string& text);

// Returns "LABEL NAME CONTENT" of each image, or "LABEL NAME (DAMAGE)" if it is damaged. NAME is
// the part after the last slash or colon.
std::vector<std::string> described(RecordStream& stream);

// Returns described() of a stream of `bytes`.
std::vector<std::string> streamed(const std::string& bytes, const std::vector<std::string>& classes,
                                  const std::string& tfrecord_keys = "");
// Returns the message of the error that streamed() throws; empty if there is none.
std::string error_of_stream(const std::string& bytes, const std::vector<std::string>& classes,
                            const std::string& tfrecord_keys = "");

std::vector<int32_t> sorted(std::vector<int32_t> labels);

// Loader options: batches of 4 images of 24 × 24 pixels.
LoaderOptions small(bool train = true);
// Options for opening a stream: classes c100 … c149.
OpenOptions opening(int64_t shuffle_buffer = 8);
// Returns a tar of `count` images. Image i has class i modulo 50. File `damaged` is not an image
// (-1: none).
std::string tar_of(int64_t count, int64_t damaged = -1);

}  // namespace shoal::data
