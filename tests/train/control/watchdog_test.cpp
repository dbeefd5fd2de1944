#include "train/control/watchdog.h"

#include <signal.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include "tests/support/spawn_ranks.h"
#include "train/control/stop.h"

using namespace shoal;
using Catch::Matchers::Contains;
using dist::Phase;
using train::Ending;
using train::Watchdog;

namespace {

// A watchdog that stores the ending instead of ending the process.
struct Watched {
  std::shared_ptr<dist::Progress> progress = std::make_shared<dist::Progress>();
  std::shared_ptr<std::promise<Ending>> ended = std::make_shared<std::promise<Ending>>();
  std::future<Ending> ending = ended->get_future();
  Watchdog watchdog;

  explicit Watched(double timeout, bool leader = true)
      : watchdog({timeout, leader, progress,
                  [ended = ended](const Ending& ending) { ended->set_value(ending); }}) {}
};

Watchdog::Rescue saves(const std::string& text) {
  return [text](const Ending&) { return text; };
}

}  // namespace

TEST_CASE("a lost peer makes the leader save while its main thread waits") {
  Watched run(60);
  const Watchdog::Rescuable rescuable(&run.watchdog, saves("step 7 is saved"));
  run.progress->enter(Phase::waiting, "all_reduce_sum");
  run.watchdog.loss_reporter()("rank 1 is lost");
  const Ending ending = run.ending.get();
  REQUIRE(ending.cause == Ending::Cause::lost_peer);
  REQUIRE_THAT(ending.text, Contains("rank 1 is lost") && Contains("step 7 is saved"));
}

TEST_CASE("the reason is named if the leader cannot save") {
  Watched run(60);
  const Watchdog::Rescuable rescuable(&run.watchdog, [](const Ending&) -> std::string {
    throw std::runtime_error("the disk is full");
  });
  run.progress->enter(Phase::reading);
  run.watchdog.loss_reporter()("rank 1 is lost");
  REQUIRE_THAT(run.ending.get().text, Contains("not saved: the disk is full"));
}

TEST_CASE("while the leader saves, an exception of the main thread destroys nothing") {
  Watched run(60);
  std::promise<void> saving, go_on;
  std::atomic<bool> saved = false, destroyed_before = false;
  auto rescuable =
      std::make_unique<Watchdog::Rescuable>(&run.watchdog, [&](const Ending&) -> std::string {
        saving.set_value();
        go_on.get_future().wait();
        saved = true;
        return "saved";
      });
  run.progress->enter(Phase::stepping);
  run.watchdog.loss_reporter()("rank 1 is lost");
  saving.get_future().wait();
  auto unwinding = std::async(std::launch::async, [&] {
    rescuable.reset();
    destroyed_before = !saved;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // lets a faulty destructor finish
  go_on.set_value();
  unwinding.wait();
  CHECK_FALSE(destroyed_before);
  CHECK_THAT(run.ending.get().text, Contains("saved"));
}

TEST_CASE("a rank other than the leader ends without saving") {
  Watched run(60, /*leader=*/false);
  const Watchdog::Rescuable rescuable(&run.watchdog, saves("saved"));
  run.progress->enter(Phase::saving);
  run.watchdog.loss_reporter()("rank 0 is lost");
  REQUIRE(run.ending.get().text == "rank 0 is lost");
}

TEST_CASE("a stop ends the process in time, even if the state cannot be saved") {
  // In a process of its own, because the stop signal stays set.
  test::run_ranks(1, "stop", [](const dist::Env&) {
    Watched waits(0.2), writes(0.2), early(0.2), other(0.2, /*leader=*/false);
    const Watchdog::Rescuable first(&waits.watchdog, saves("step 7 is saved"));
    const Watchdog::Rescuable second(&writes.watchdog, saves("never called"));
    waits.progress->enter(Phase::reading);
    writes.progress->enter(Phase::saving);
    { Watched dismissed(0.2); }
    train::request_stop(SIGTERM);
    const Ending saved = waits.ending.get(), unsaved = writes.ending.get();
    REQUIRE(saved.cause == Ending::Cause::stopped);
    REQUIRE(saved.signal == SIGTERM);
    REQUIRE_THAT(saved.text, Contains("while reading images") && Contains("step 7 is saved"));
    REQUIRE(unsaved.cause == Ending::Cause::not_saved);
    REQUIRE_THAT(unsaved.text, Contains("not saved") && Contains("saving a checkpoint"));
    REQUIRE_THAT(early.ending.get().text, Contains("nothing to save"));
    REQUIRE(other.ending.get().cause == Ending::Cause::stopped);
  });
}
