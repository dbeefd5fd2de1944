#pragma once
// Runs a function in a child process and collects what it wrote and how it ended.

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>

#include "tests/support/files.h"
#include "tests/support/temporary_directory.h"

namespace shoal::test {

struct Captured {
  int code = -1;  // exit code, or 128 + N if signal N ended the child
  std::string out, err;
  double seconds = 0;
};

// Runs `function` in a child process, which exits with the returned value, or with 97 if `function`
// throws. In the child, CHECK and REQUIRE do not fail the test, so `function` must return a code
// instead. `meanwhile`, if given, is called in this process with the child's process id after the
// child's first line on stdout. Waits until no process, including grandchildren, has the child's
// stdout or stderr open. After 30 s, kills all children of this process and their descendants, and
// fails the test. From the first call on, this process adopts orphaned descendants.
Captured capture(const std::function<int()>& function,
                 const std::function<void(pid_t)>& meanwhile = {});

// A temporary folder, removed by the destructor.
class Folder {
 public:
  std::filesystem::path operator/(const std::string& name) const {
    return directory_.path() / name;
  }
  std::string text() const { return directory_.path().string(); }

 private:
  TemporaryDirectory directory_;
};

}  // namespace shoal::test
