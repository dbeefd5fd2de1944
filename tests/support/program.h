#pragma once
// Runs built programs as a user would, and looks at what they left.

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace shoal::test {

struct Outcome {
  int exit_code = -1;  // 128 + N when signal N ended it
  std::string out, err;
};

// Runs `shoal` (words[0] is its command) and returns when it has ended. `environment`:
// "NAME=value", added. `watch` is called again and again while it runs, about every half
// millisecond; true kills its whole process group with SIGKILL. Fails the test when it takes longer
// than `limit_seconds`.
Outcome run_shoal(const std::vector<std::string>& words,
                  const std::vector<std::string>& environment = {},
                  const std::function<bool(pid_t group)>& watch = {}, double limit_seconds = 300);

// The same for another program, which stands at `program`.
Outcome run_program(const std::string& program, const std::vector<std::string>& words,
                    const std::vector<std::string>& environment = {},
                    const std::function<bool(pid_t group)>& watch = {}, double limit_seconds = 300);

struct Invocation {
  std::vector<std::string> words;             // the program's path and its arguments
  std::vector<std::string> environment = {};  // "NAME=value", added
};

std::string shoal_program();

// Runs several programs at the same time and returns when all have ended, in their order. `watch`
// gets the first one's process; true kills them all. Fails the test when they take too long.
std::vector<Outcome> run_together(const std::vector<Invocation>& invocations,
                                  const std::function<bool(pid_t group)>& watch = {},
                                  double limit_seconds = 120);

std::string read_text(const std::filesystem::path& path);
std::vector<std::string> lines_of(const std::string& text);

// Class folders under `root`/train and `root`/val with small made-up JPEGs; classes can be learnt.
void make_images(const std::filesystem::path& root, int train, int val, int classes, int side);

}  // namespace shoal::test
