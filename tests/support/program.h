#pragma once
// Runs the built programs as a user does, and reads their output files.

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/files.h"
#include "tests/support/temporary_directory.h"

namespace shoal::test {

struct Outcome {
  int exit_code = -1;   // 128 + N if signal N ended the program
  bool killed = false;  // a signal ended the program; it did not exit with 128 + N itself
  std::string out, err;
};

// Runs `shoal` with these arguments (words[0] is the command) and returns when it has ended.
// `environment` adds variables, "NAME=value". `watch` is called about every half millisecond with
// the process id, which is also the id of the process group. If it returns true, the group is
// killed with SIGKILL. Fails the test after `limit_seconds`.
Outcome run_shoal(const std::vector<std::string>& words,
                  const std::vector<std::string>& environment = {},
                  const std::function<bool(pid_t group)>& watch = {}, double limit_seconds = 300);

// Runs another program as run_shoal() does. `program`: its path, or its name in PATH.
Outcome run_program(const std::string& program, const std::vector<std::string>& words,
                    const std::vector<std::string>& environment = {},
                    const std::function<bool(pid_t group)>& watch = {}, double limit_seconds = 300);

struct Invocation {
  std::vector<std::string> words;             // the program's path and its arguments
  std::vector<std::string> environment = {};  // variables to add, "NAME=value"
};

std::string shoal_program();

// Returns the number of a free TCP port of this host, as text for an option or a variable.
std::string free_port();

// Runs several programs at the same time. Returns their outcomes, in the same order, when all have
// ended. `watch` gets their process ids; if it returns true or throws, all are killed. Fails the
// test after `limit_seconds`.
std::vector<Outcome> run_together(const std::vector<Invocation>& invocations,
                                  const std::function<bool(const std::vector<pid_t>&)>& watch = {},
                                  double limit_seconds = 120);

// Returns the process id of the child of `parent` with RANK=`rank` in its environment, or 0.
pid_t worker_of(pid_t parent, int rank);

// Sends a signal to the worker with this rank. Returns false if there is no such worker.
bool signal_worker(pid_t shoal, int rank, int signal);

// Returns what the process has written to stderr so far. For use in the `watch` of run_shoal().
std::string stderr_of(pid_t process);

std::vector<std::string> joined(std::vector<std::string> words,
                                const std::vector<std::string>& more);

// Checks that shoal refuses the arguments `words` with exit code 2 and a message that contains
// `part`.
void check_refused(const std::vector<std::string>& words, const std::string& part);
std::vector<std::string> lines_of(const std::string& text);

// Writes synthetic JPEGs of `side` x `side` pixels into class folders under `root`/train and
// `root`/val. A model can learn their classes.
void make_images(const std::filesystem::path& root, int train, int val, int classes, int side);

// Returns a file in the folder or in one of its subfolders.
std::filesystem::path first_file(const std::filesystem::path& folder);

}  // namespace shoal::test
