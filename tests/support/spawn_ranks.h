#pragma once
// Runs a piece of a test in N real processes that meet over loopback.
//
//   TEST_CASE("ranks add up") {
//     run_ranks(3, "sum", [](const dist::Env& env) {       // returns when all three have ended
//       auto group = dist::connect(env).main;
//       … REQUIRE(…) …
//     });
//   }
//
// Each process starts this test program again with the same test case and runs everything before
// its run_ranks call too, so keep that part cheap and free of side effects. Tags tell several calls
// of one test case apart. In a rank process a failed REQUIRE or any exception ends the rank with
// code 1 (use REQUIRE, not CHECK). OpenMP runs one thread per rank.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::test {

// The exit code of a process that ended without having run its function.
inline constexpr int kNeverRan = 99;

struct RankResult {
  int exit_code = -1;  // 0: the function returned; -1 when ended by a signal
  int signal = 0;      // that ended it; SIGKILL also past the time limit
  bool timed_out = false;
  std::string output;  // stdout and stderr
};

using RankFunction = std::function<void(const dist::Env&)>;

// Fails the test case, showing the output, unless every rank ended well.
void run_ranks(int ranks, const std::string& tag, const RankFunction& function,
               std::chrono::seconds limit = std::chrono::seconds(240));

// For ranks that are meant to fail: returns how each of them ended, by rank.
std::vector<RankResult> run_ranks_and_report(
    int ranks, const std::string& tag, const RankFunction& function,
    std::chrono::seconds limit = std::chrono::seconds(240));

}  // namespace shoal::test
