#pragma once
// Runs part of a test in N processes (ranks) that connect over the loopback interface.
//
//   TEST_CASE("ranks add up") {
//     run_ranks(3, "sum", [](const dist::Env& env) {       // returns when all three have ended
//       auto group = dist::connect(env).main;
//       REQUIRE(...);
//     });
//   }
//
// Each rank's process runs this test program again, with the same test case, up to its run_ranks
// call. So the code before that call must be cheap and free of side effects. The tag distinguishes
// several calls in one test case. A failed REQUIRE or an exception ends the rank with exit code 1;
// CHECK does not, so use REQUIRE. Each rank has one OpenMP thread.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::test {

// Exit code of a process that ended before it called its function.
inline constexpr int kNeverRan = 99;

struct RankResult {
  int exit_code = -1;  // 0: the function returned; -1: a signal ended the process
  int signal = 0;      // the signal that ended the process; SIGKILL after the time limit
  bool timed_out = false;
  std::string output;  // stdout and stderr
};

using RankFunction = std::function<void(const dist::Env&)>;

// Runs the ranks. If any fails, fails the test case and shows the output.
void run_ranks(int ranks, const std::string& tag, const RankFunction& function,
               std::chrono::seconds limit = std::chrono::seconds(240));

// Runs the ranks and returns how each ended. For ranks that are expected to fail.
std::vector<RankResult> run_ranks_and_report(
    int ranks, const std::string& tag, const RankFunction& function,
    std::chrono::seconds limit = std::chrono::seconds(240));

}  // namespace shoal::test
