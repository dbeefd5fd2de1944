#pragma once
// Runs a function in a child process and collects what it wrote and how it ended.

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>

#include "tests/support/temporary_directory.h"

namespace shoal::test {

struct Captured {
  int code = -1;  // exit code; 128 + N when signal N ended it
  std::string out, err;
  double seconds = 0;
};

// `function`'s result is the exit code. `meanwhile`, when given, runs in this process as soon as
// the child has written the first line on stdout, with the child's process id. Reading ends when
// every process that holds the child's stdout and stderr has ended: a left-over grandchild would
// keep it waiting, at most 30 s, which fails the test.
Captured capture(const std::function<int()>& function,
                 const std::function<void(pid_t)>& meanwhile = {});

// A folder that is removed with the object.
class Folder {
 public:
  std::filesystem::path operator/(const std::string& name) const {
    return directory_.path() / name;
  }
  std::string text() const { return directory_.path().string(); }

 private:
  TemporaryDirectory directory_;
};

void write_text(const std::filesystem::path& path, const std::string& text);
std::string read_text(const std::filesystem::path& path);

}  // namespace shoal::test
