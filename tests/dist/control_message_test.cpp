#include "dist/control_message.h"

#include <signal.h>

#include <catch2/catch.hpp>
#include <stdexcept>

#include "dist/connect.h"
#include "tests/support/spawn_ranks.h"

using namespace shoal;
using Catch::Matchers::Contains;
using dist::ControlMessage;

namespace {

ControlMessage message_of(int rank, int step) {
  ControlMessage message;
  message.unreadable_images = 10 + rank + 100 * step;
  message.checkpoint_requested = step == 3 && rank == 0;
  if (step == 4 && rank == 0) message.stop_signal = SIGINT;
  if (step == 5) message.stop_signal = rank == 0 ? SIGTERM : SIGINT;
  message.out_of_data = step == 6 && rank > 0;
  if (rank == 0) message.trained_ms = 1500 * step;
  return message;
}

void check_messages(const dist::Env& env) {
  dist::Communicator world = dist::connect(env);
  dist::ControlChannel channel(world.control);
  const int n = world.size();
  REQUIRE(channel.collect() == ControlMessage{});
  for (int step = 0; step < 7; ++step) {
    channel.post(message_of(world.rank(), step));
    const ControlMessage message = channel.collect();
    REQUIRE(message.unreadable_images == n * (10 + 100 * step) + n * (n - 1) / 2);
    REQUIRE(message.out_of_data == (step == 6 ? n - 1 : 0));
    REQUIRE(message.trained_ms == 1500 * step);
    REQUIRE(message.checkpoint_requested == (step == 3));
    REQUIRE(message.stop_signal == (step == 4 ? SIGINT : step == 5 ? SIGTERM : 0));
    REQUIRE(channel.collect() == ControlMessage{});
  }
  channel.post({});
  REQUIRE_THROWS_AS(channel.post({}), std::logic_error);
  channel.collect();
  ControlMessage odd;
  odd.stop_signal = SIGUSR1;
  REQUIRE_THROWS_AS(channel.post(odd), std::invalid_argument);
  world.shutdown();
}

}  // namespace

TEST_CASE("one process receives its own control message") {
  check_messages(dist::single_process());
}

TEST_CASE("every rank receives the same control message", "[slow]") {
  for (int ranks : {2, 3})
    test::run_ranks(ranks, "messages of " + std::to_string(ranks), check_messages);
}

TEST_CASE("a control message that never arrives is an error naming the rank") {
  const auto results = test::run_ranks_and_report(2, "no message", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    dist::ControlChannel channel(world.control);
    if (env.rank == 0) channel.post({});
    world.main.barrier("posted");
    if (env.rank == 1) raise(SIGKILL);
    REQUIRE_THROWS_WITH(channel.collect(),
                        Contains("rank 0 of 2: waiting for the control message"));
  });
  INFO(results[0].output);
  CHECK(results[0].exit_code == 0);
  CHECK(results[1].signal == SIGKILL);
}

TEST_CASE("a rank that leaves with a message in flight does not wait for it") {
  test::run_ranks(
      2, "in flight",
      [](const dist::Env& env) {
        dist::Communicator world = dist::connect(env);
        if (env.rank == 0) {
          dist::ControlChannel(world.control).post({});
          world.control = dist::Group();  // rank 1 is alive but never posts its message
        }
        world.main.barrier("rank 0 has left the group");
      },
      std::chrono::seconds(30));
}
