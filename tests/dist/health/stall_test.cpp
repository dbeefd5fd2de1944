#include "dist/health/stall.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

using namespace shoal::dist;
using Catch::Contains;

namespace {

HeartbeatState heartbeat(Phase phase, double seconds, const std::string& operation = {}) {
  HeartbeatState p;
  p.state = {phase, operation, seconds};
  return p;
}

Env two_hosts() {
  Env env;
  env.world_size = 4;
  env.local_world_size = 2;
  env.hosts = {"algo-1", "algo-2"};
  return env;
}

}  // namespace

TEST_CASE("a heartbeat survives encoding, and malformed text is rejected") {
  const auto there =
      decode_heartbeat(encode_heartbeat(7, {Phase::waiting, "barrier 'end of run'", 1.25}));
  REQUIRE(there);
  CHECK(there->first == 7);
  CHECK(there->second.phase == Phase::waiting);
  CHECK(there->second.operation == "barrier 'end of run'");
  CHECK(there->second.seconds == 1.25);
  CHECK(decode_heartbeat(encode_heartbeat(0, {Phase::reading, "", 0}))->second.operation.empty());
  for (const char* bad : {"", "7", "7 1", "a b c", "1 99 5", "1 -1 5"})
    CHECK_FALSE(decode_heartbeat(bad));
}

TEST_CASE("a silent rank is named with its host and its phase") {
  std::vector<HeartbeatState> heartbeats(4, heartbeat(Phase::waiting, 61, "all_reduce_sum"));
  heartbeats[2] = heartbeat(Phase::stepping, 1);
  heartbeats[2].alive = false;
  heartbeats[2].silent_seconds = 40;
  CHECK_THAT(describe_stall(heartbeats, two_hosts(), 60),
             Contains("61 s in all_reduce_sum") && Contains("rank 2 (algo-2)") &&
                 Contains("no heartbeat for 40 s") && Contains("computing a step"));
}

TEST_CASE("a rank that reads or saves for a long time is named") {
  std::vector<HeartbeatState> heartbeats(4, heartbeat(Phase::stepping, 61));
  heartbeats[1] = heartbeat(Phase::reading, 64);
  heartbeats[3] = heartbeat(Phase::reading, 2);  // started recently: not named
  const std::string text = describe_stall(heartbeats, two_hosts(), 60);
  CHECK_THAT(text,
             (Contains("rank 1 (algo-1)") && Contains("reading images") && Contains("64 s")) &&
                 !Contains("rank 3") && !Contains("rank 0"));
  heartbeats[1] = heartbeat(Phase::waiting, 61, "all_reduce_sum");
  heartbeats[0] = heartbeat(Phase::saving, 61);
  CHECK_THAT(describe_stall(heartbeats, two_hosts(), 60),
             (Contains("rank 0 (algo-1)") && Contains("saving a checkpoint") && Contains("61 s")));
}

TEST_CASE("the only rank that computes while the others wait is named; none if all wait") {
  std::vector<HeartbeatState> heartbeats(3, heartbeat(Phase::waiting, 70, "barrier"));
  CHECK_THAT(describe_stall(heartbeats, Env(), 60), Contains("every rank responds"));
  heartbeats[1] = heartbeat(Phase::stepping, 70);
  CHECK_THAT(describe_stall(heartbeats, Env(), 60), Contains("rank 1 still computing"));
  CHECK_THAT(
      describe_stall(std::vector<HeartbeatState>(3, heartbeat(Phase::stepping, 70)), Env(), 60),
      Contains("every rank responds"));
}

TEST_CASE("a long list of late ranks is shortened") {
  std::vector<HeartbeatState> heartbeats(40, heartbeat(Phase::reading, 70));
  CHECK_THAT(describe_stall(heartbeats, Env(), 60),
             Contains("rank 15 ") && Contains("and 24 more"));
}

TEST_CASE("a wait restores the previous phase") {
  Progress progress;
  progress.enter(Phase::evaluating);
  {
    const PhaseScope waiting(&progress, Phase::waiting, "all_gather");
    CHECK(progress.state().phase == Phase::waiting);
    CHECK(progress.state().operation == "all_gather");
  }
  CHECK(progress.state().phase == Phase::evaluating);
  CHECK(progress.state().operation.empty());
  const PhaseScope nothing(nullptr, Phase::waiting);
}

TEST_CASE("a single process reports its phase and the image that it reads") {
  HeartbeatState own = heartbeat(Phase::reading, 61, "/data/a.jpg");
  CHECK_THAT(describe_stall({own}, Env(), 60),
             Contains("no progress for 61 s") && Contains("reading images for 61 s (/data/a.jpg)"));
}

TEST_CASE("ranks without heartbeats are lost after the limit") {
  std::vector<HeartbeatState> heartbeats(4, heartbeat(Phase::waiting, 70, "all_reduce_sum"));
  CHECK(describe_loss(heartbeats, two_hosts(), 60).empty());
  heartbeats[2].silent_seconds = 61;
  CHECK_THAT(describe_loss(heartbeats, two_hosts(), 60),
             (Contains("rank 2 (algo-2)") && Contains("no heartbeat") && Contains("61 s")) &&
                 !Contains("rank 3"));
}

TEST_CASE("while a process reads, its state names the image") {
  Progress progress;
  progress.name_reads([] { return "/data/a.jpg"; });
  CHECK(progress.state().operation.empty());
  progress.enter(Phase::reading);
  CHECK(progress.state().operation == "/data/a.jpg");
  progress.name_reads({});
  CHECK(progress.state().operation.empty());
}

TEST_CASE("freeze() succeeds only in a phase that may be frozen, and stops the thread at its end") {
  using std::chrono::milliseconds;
  // The thread never ends, so it uses these objects for ever: none may be destroyed.
  static Progress& progress = *new Progress;
  static std::atomic<bool> updated = false, saving = false, entering = false, waited = false;
  progress.enter(Phase::updating);
  REQUIRE_FALSE(progress.freeze(milliseconds(1)));
  std::thread([] {
    updated = true;
    progress.enter(Phase::waiting, "all_reduce_sum");
    while (!saving) std::this_thread::yield();
    entering = true;
    progress.enter(Phase::updating);
    waited = true;
  }).detach();
  REQUIRE(progress.freeze(milliseconds(60'000)));
  CHECK(updated);
  CHECK(progress.state().operation == "all_reduce_sum");
  progress.enter(Phase::saving);  // the thread that freezes may enter phases
  saving = true;
  while (!entering) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // a broken enter() would return now
  CHECK_FALSE(waited);
  CHECK(progress.state().phase == Phase::saving);
}
