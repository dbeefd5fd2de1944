#include "dist/health/stall.h"

#include <catch2/catch.hpp>

using namespace shoal::dist;
using Catch::Contains;

namespace {

Pulse pulse(Phase phase, double seconds, const std::string& operation = {}) {
  Pulse p;
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

TEST_CASE("a pulse travels unchanged, and what is none is not taken for one") {
  const auto there = decode_pulse(encode_pulse(7, {Phase::waiting, "barrier 'end of run'", 1.25}));
  REQUIRE(there);
  CHECK(there->first == 7);
  CHECK(there->second.phase == Phase::waiting);
  CHECK(there->second.operation == "barrier 'end of run'");
  CHECK(there->second.seconds == 1.25);
  CHECK(decode_pulse(encode_pulse(0, {Phase::reading, "", 0}))->second.operation.empty());
  for (const char* bad : {"", "7", "7 1", "a b c", "1 99 5", "1 -1 5"})
    CHECK_FALSE(decode_pulse(bad));
}

TEST_CASE("a silent rank is named with its host and what it did") {
  std::vector<Pulse> pulses(4, pulse(Phase::waiting, 61, "all_reduce_sum"));
  pulses[2] = pulse(Phase::updating, 1);
  pulses[2].alive = false;
  pulses[2].silent_seconds = 40;
  CHECK(
      name_the_late(pulses, two_hosts(), 60) ==
      "no progress for 61 s in all_reduce_sum: rank 2 (algo-2) has given no sign of life for 40 s "
      "(it was computing an update)");
}

TEST_CASE("a rank that reads or saves for long keeps the others waiting") {
  std::vector<Pulse> pulses(4, pulse(Phase::updating, 61));
  pulses[1] = pulse(Phase::reading, 64);
  pulses[3] = pulse(Phase::reading, 2);  // it has only begun
  const std::string text = name_the_late(pulses, two_hosts(), 60);
  CHECK_THAT(text, Contains("rank 1 (algo-1) has been reading images for 64 s") &&
                       !Contains("rank 3") && !Contains("rank 0"));
  pulses[1] = pulse(Phase::waiting, 61, "all_reduce_sum");
  pulses[0] = pulse(Phase::saving, 61);
  CHECK_THAT(name_the_late(pulses, two_hosts(), 60),
             Contains("rank 0 (algo-1) has been saving a checkpoint for 61 s"));
}

TEST_CASE("one rank that computes while all others wait is named; none is when all of them wait") {
  std::vector<Pulse> pulses(3, pulse(Phase::waiting, 70, "barrier"));
  CHECK_THAT(name_the_late(pulses, Env(), 60), Contains("every rank is there"));
  pulses[1] = pulse(Phase::updating, 70);
  CHECK_THAT(name_the_late(pulses, Env(), 60), Contains("rank 1 is still computing"));
  CHECK_THAT(name_the_late(std::vector<Pulse>(3, pulse(Phase::updating, 70)), Env(), 60),
             Contains("every rank is there"));
}

TEST_CASE("of many late ranks some are named and the rest counted") {
  std::vector<Pulse> pulses(40, pulse(Phase::reading, 70));
  CHECK_THAT(name_the_late(pulses, Env(), 60), Contains("rank 15 ") && Contains("and 24 more"));
}

TEST_CASE("waiting is a phase within another") {
  Progress progress;
  progress.enter(Phase::evaluating);
  {
    const Waiting waiting(&progress, "all_gather");
    CHECK(progress.state().phase == Phase::waiting);
    CHECK(progress.state().operation == "all_gather");
  }
  CHECK(progress.state().phase == Phase::evaluating);
  CHECK(progress.state().operation.empty());
  const Waiting nothing(nullptr, "nobody waits");
}
