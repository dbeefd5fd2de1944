// Ranks are spawned, not forked: OpenMP's threads and torch's state do not survive a fork.

#include "tests/support/spawn_ranks.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>

#include "dist/env/network.h"

namespace shoal::test {

namespace {

constexpr const char* kTagVariable = "SHOAL_TEST_RANK_TAG";

// Exit code of a rank whose function returned. It is not 0, because the rank's process also exits
// with 0 if it finds no test case with the name from start(), or never calls the function.
constexpr int kEndedWell = 86;

struct Process {
  pid_t pid = -1;
  int output = -1;  // read end of the pipe that is the process's stdout and stderr
};

std::string escaped(const std::string& test_name) {  // for Catch2's test filter
  std::string result;
  for (char c : test_name) {
    if (std::string("\\,[]\"*~").find(c) != std::string::npos) result += '\\';
    result += c;
  }
  return result;
}

Process start(const dist::Env& env, const std::string& tag) {
  dist::Variables variables = dist::environment();
  for (const auto& [name, value] : dist::to_variables(env)) variables[name] = value;
  variables[kTagVariable] = tag;
  variables["SHOAL_TEST_RANK"] = std::to_string(env.rank);
  variables["OMP_NUM_THREADS"] = std::to_string(1);
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  std::vector<char*> environment;
  for (std::string& entry : entries) environment.push_back(entry.data());
  environment.push_back(nullptr);

  const std::string program = [] {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    REQUIRE(length > 0);
    return std::string(path, static_cast<size_t>(length));
  }();
  std::string test = escaped(Catch::getResultCapture().getCurrentTestName());
  std::vector<char*> arguments = {const_cast<char*>(program.c_str()), test.data(), nullptr};

  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  Process process;
  process.output = ends[0];
  const int failed = posix_spawn(&process.pid, program.c_str(), &actions, nullptr, arguments.data(),
                                 environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  REQUIRE(failed == 0);
  return process;
}

// Reads the output of all processes until each has closed its pipe. Returns false at the deadline.
bool read_all(const std::vector<Process>& processes, std::vector<RankResult>& results,
              std::chrono::steady_clock::time_point deadline) {
  std::vector<pollfd> waiting;
  for (const Process& process : processes) waiting.push_back({process.output, POLLIN, 0});
  for (size_t open = waiting.size(); open > 0;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    poll(waiting.data(), waiting.size(), static_cast<int>(left.count()));
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (!(waiting[i].revents & (POLLIN | POLLHUP))) continue;
      char buffer[4096];
      const ssize_t length = read(waiting[i].fd, buffer, sizeof buffer);
      if (length > 0) {
        results[i].output.append(buffer, static_cast<size_t>(length));
      } else {
        waiting[i].fd = -1;  // poll() ignores this entry
        --open;
      }
    }
  }
  return true;
}

// In a rank's process: runs the function and exits. Returns at once if the rank belongs to another
// run_ranks call of the test case.
void be_a_rank(const char* my_tag, const std::string& tag, const RankFunction& function) {
  if (my_tag != tag) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends the rank if the test is killed
  ::signal(SIGPIPE, SIG_IGN);        // as dist::connect() requires
  int code = 1;
  try {
    const dist::Variables variables = dist::environment();
    function(dist::this_worker(variables));
    code = kEndedWell;
  } catch (const std::exception& error) {
    std::cerr << "rank " << std::getenv("SHOAL_TEST_RANK") << ": " << error.what() << std::endl;
  } catch (...) {
    std::cerr << "rank " << std::getenv("SHOAL_TEST_RANK") << ": a REQUIRE failed" << std::endl;
  }
  std::cout.flush();
  fflush(nullptr);
  _exit(code);
}

// Converts the exit code of a rank's process to RankResult::exit_code.
int reported(int code) {
  if (code == kEndedWell) return 0;
  return code == 0 ? kNeverRan : code;
}

}  // namespace

std::vector<RankResult> run_ranks_and_report(int ranks, const std::string& tag,
                                             const RankFunction& function,
                                             std::chrono::seconds limit) {
  if (const char* my_tag = std::getenv(kTagVariable)) {
    be_a_rank(my_tag, tag, function);
    return std::vector<RankResult>(static_cast<size_t>(ranks), RankResult{0, 0, false, ""});
  }
  const auto deadline = std::chrono::steady_clock::now() + limit;
  const uint16_t port = dist::free_port();
  std::vector<Process> processes;
  for (int rank = 0; rank < ranks; ++rank)
    processes.push_back(start(dist::for_local_worker(ranks, rank, port), tag));

  std::vector<RankResult> results(processes.size());
  const bool in_time = read_all(processes, results, deadline);
  for (size_t i = 0; i < processes.size(); ++i) {
    if (!in_time) results[i].timed_out = kill(processes[i].pid, SIGKILL) == 0;
    int status = 0;
    waitpid(processes[i].pid, &status, 0);
    if (WIFEXITED(status)) results[i].exit_code = reported(WEXITSTATUS(status));
    if (WIFSIGNALED(status)) results[i].signal = WTERMSIG(status);
    close(processes[i].output);
  }
  return results;
}

void run_ranks(int ranks, const std::string& tag, const RankFunction& function,
               std::chrono::seconds limit) {
  const auto results = run_ranks_and_report(ranks, tag, function, limit);
  std::string report;
  bool all_well = true;
  for (size_t rank = 0; rank < results.size(); ++rank) {
    const RankResult& result = results[rank];
    if (result.exit_code == 0) continue;
    all_well = false;
    report += "rank " + std::to_string(rank) +
              (result.timed_out ? " ran past the time limit" : "") +
              (result.exit_code == kNeverRan ? " never called its function" : "") + ", exit code " +
              std::to_string(result.exit_code) + ", signal " + std::to_string(result.signal) +
              ":\n" + result.output + "\n";
  }
  INFO(report);
  REQUIRE(all_well);
}

}  // namespace shoal::test
