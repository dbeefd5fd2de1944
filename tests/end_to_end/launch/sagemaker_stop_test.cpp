// Tests that stopping a job in a SageMaker container counts as success.

#include <signal.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/launch/container.h"
#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;
using test::Container;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

Words long_run(const std::string& processes) {
  // clang-format off
  return {"train", "--model", "mobilenet_v3_small", "--size", "32", "--batch-size", "4",
  "--epochs", "500",
          "--lr", "0.01", "--nproc", processes, "--threads", "1", "--workers", "1",
          "--print-freq", "1000", "--checkpoint-steps", "2", "--keep", "1"};
  // clang-format on
}

// Runs the program and calls `stop` with its process id after the first checkpoint.
test::Outcome stopped(const Container& container, const std::string& program, const Words& words,
                      const std::function<void(pid_t)>& stop) {
  bool called = false;
  const auto watch = [&](pid_t process) {
    if (!called && fs::exists(container / "checkpoints/epoch-0000-step-00000002.json")) {
      called = true;
      stop(process);
    }
    return false;
  };
  return test::run_program(program, words, container.environment(), watch, 60);
}

void require_stopped_in_order(const Container& container, const test::Outcome& outcome) {
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  CHECK(outcome.err.find("stopped by SIGTERM") != std::string::npos);
  CHECK_FALSE(fs::exists(container / "output/failure"));
  const auto entries = train::CheckpointStore(container / "checkpoints", 1).entries();
  REQUIRE_FALSE(entries.empty());
  const auto settings = nlohmann::json::parse(test::read_text(container / "model/settings.json"));
  CHECK(settings["step"] == entries.front().step);
  CHECK(fs::exists(container / "model/model.safetensors"));
}

}  // namespace

TEST_CASE("SIGTERM in a container saves a checkpoint, exports the model and counts as success") {
  Container container;
  container.fill(80, 4);
  require_stopped_in_order(container, stopped(container, test::shoal_program(), long_run("2"),
                                              [](pid_t process) { ::kill(process, SIGTERM); }));
}

TEST_CASE("SIGTERM while the job waits for another host ends it at once and counts as success") {
  Container container;
  container.fill(8, 4);
  container.write("resourceconfig",
                  R"({"current_host": "127.0.0.1", "hosts": ["127.0.0.1", "localhost"]})");
  bool sent = false;
  const auto outcome = test::run_program(
      test::shoal_program(), long_run("1"), container.environment(),
      [&](pid_t process) {
        if (!sent && test::stderr_of(process).find("waiting for") != std::string::npos)
          sent = ::kill(process, SIGTERM) == 0;
        return false;
      },
      60);
  INFO(outcome.err);
  CHECK(sent);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.err, Catch::Contains("stopped before training began"));
  CHECK_FALSE(fs::exists(container / "output/failure"));
}

TEST_CASE("as process 1 of a container, shoal handles signals and reaps orphans",
          "[pid_namespace]") {
  Container container;
  container.fill(80, 4);
  const auto children = [](pid_t process) {
    const std::string task =
        "/proc/" + std::to_string(process) + "/task/" + std::to_string(process) + "/children";
    std::vector<pid_t> list;
    std::ifstream file(task);
    for (pid_t child; file >> child;) list.push_back(child);
    return list;
  };
  // The shell starts a process, which soon ends as an orphan. Then the shell becomes shoal, which
  // must reap the orphan, because it is process 1 of the namespace.
  Words words = {
      "--pid", "--fork", "/bin/sh", "-c", "(true &) && exec \"$0\" \"$@\"", test::shoal_program()};
  for (const std::string& word : long_run("1")) words.push_back(word);
  int running = -1;
  const auto outcome = stopped(container, "/usr/bin/unshare", words, [&](pid_t process) {
    const auto first = children(process);
    REQUIRE(first.size() == 1);
    running = static_cast<int>(children(first[0]).size());
    ::kill(first[0], SIGTERM);
  });
  CHECK(running == 1);  // only the worker; the orphan was reaped
  require_stopped_in_order(container, outcome);
}
