// Runs shoal under the installed launchers. CMake enables the tests of the launchers that work.

#include <signal.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "tests/end_to_end/launch/small_run.h"

using namespace shoal;
using test::Invocation;
using test::pair_run;
namespace fs = std::filesystem;

namespace {

std::string tool(const char* variable) {
  const char* path = std::getenv(variable);
  INFO(variable << " must contain the path of the program");
  REQUIRE(path != nullptr);
  return path;
}

Invocation with_launcher(std::vector<std::string> launcher, const std::vector<std::string>& words) {
  launcher.insert(launcher.end(), words.begin(), words.end());
  return {launcher, {}};
}

Invocation torchrun(const std::vector<std::string>& options,
                    const std::vector<std::string>& words) {
  std::vector<std::string> launcher = {tool("SHOAL_TORCHRUN"), "--no-python"};
  launcher.insert(launcher.end(), options.begin(), options.end());
  return with_launcher(launcher, words);
}

// Returns the process id of a shoal-worker that has `word` on its command line, or 0.
pid_t worker_with(const std::string& word) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const std::string program = line.substr(0, line.find('\0'));
    if (program.ends_with("/shoal-worker") && line.find(word) != std::string::npos)
      return std::atoi(entry.path().filename().c_str());
  }
  return 0;
}

}  // namespace

TEST_CASE("torchrun's processes on one host train together", "[torchrun]") {
  const auto words = pair_run().words("one-host");
  const std::string port = test::free_port();
  test::require_success(
      test::run_together({torchrun({"--nproc-per-node=2", "--master-port=" + port}, words)}));
  pair_run().require_same("one-host");
}

TEST_CASE("torchrun's processes on two hosts train together", "[torchrun]") {
  const auto words = pair_run().words("two-hosts");
  const std::string port = "--master-port=" + test::free_port();
  const auto agent = [&](const std::string& node) {
    return torchrun({"--nnodes=2", "--nproc-per-node=1", "--node-rank=" + node,
                     "--master-addr=127.0.0.1", port},
                    words);
  };
  test::require_success(test::run_together({agent("0"), agent("1")}));
  pair_run().require_same("two-hosts");
}

TEST_CASE("torchrun restarts a killed worker and the run resumes", "[torchrun]") {
  const std::string output = pair_run().output("elastic").string();
  const auto words = pair_run().words("elastic", {"--resume", "--checkpoint-steps", "1"});
  const std::string endpoint = "127.0.0.1:" + test::free_port();
  const fs::path marker = fs::path(output) / "checkpoints" / "epoch-0000-step-00000002.json";
  bool killed = false;
  const auto kill_one = [&](const std::vector<pid_t>&) {
    if (!killed && fs::exists(marker)) {
      const pid_t worker = worker_with(output);
      killed = worker > 0 && ::kill(worker, SIGKILL) == 0;
    }
    return false;
  };
  const auto outcomes = test::run_together(
      {torchrun({"--nnodes=1:1", "--nproc-per-node=2", "--max-restarts=2", "--rdzv-backend=c10d",
                 "--rdzv-endpoint=" + endpoint, "--rdzv-id=elastic"},
                words)},
      kill_one);
  test::require_success(outcomes);
  REQUIRE(killed);
  REQUIRE(outcomes[0].err.find("no checkpoint found") != std::string::npos);  // at the first start
  REQUIRE(outcomes[0].err.find("epoch-0000-step-0000000") != std::string::npos);
  pair_run().require_same("elastic");
}

TEST_CASE("mpirun's processes train together", "[mpirun]") {
  const auto words = pair_run().words("mpirun");
  test::require_success(test::run_together({with_launcher(
      {tool("SHOAL_MPIRUN"), "--allow-run-as-root", "--oversubscribe", "-np", "2", "--tag-output"},
      words)}));
  pair_run().require_same("mpirun");
}

TEST_CASE("horovodrun's processes train together", "[horovodrun]") {
  const auto words = pair_run().words("horovodrun");
  test::require_success(test::run_together({with_launcher(
      {tool("SHOAL_HOROVODRUN"), "--gloo", "-np", "2", "-H", "localhost:2"}, words)}));
  pair_run().require_same("horovodrun");
}

TEST_CASE("srun's tasks train together", "[srun]") {
  const auto words = pair_run().words("srun");
  test::require_success(
      test::run_together({with_launcher({tool("SHOAL_SRUN"), "-n", "2", "--overcommit"}, words)}));
  pair_run().require_same("srun");
}
