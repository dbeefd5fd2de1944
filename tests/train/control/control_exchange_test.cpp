#include "train/control/control_exchange.h"

#include <signal.h>

#include <catch2/catch.hpp>

#include "dist/connect.h"
#include "tests/support/spawn_ranks.h"

using namespace shoal;
using train::ControlExchange;
using train::Meter;

TEST_CASE("a message is collected once, with the metrics of its step") {
  const dist::Communicator world = dist::connect(dist::single_process());
  ControlExchange control(world.control);
  REQUIRE(control.collect() == dist::ControlMessage{});
  dist::ControlMessage message;
  message.stop_signal = SIGINT;
  control.post(message, Meter{2.5, 1, 2, 4, 0}, 7);
  REQUIRE(control.pending().images == 4);
  REQUIRE(control.pending_step() == 7);
  const dist::ControlMessage collected = control.collect();
  REQUIRE(collected.stop_signal == SIGINT);
  REQUIRE(collected.images == 4);
  REQUIRE(collected.loss_sum == 2.5);
  REQUIRE(control.pending().empty());
  REQUIRE(control.collect() == dist::ControlMessage{});
}

TEST_CASE("discard() drops the message, but keeps its metrics pending for the checkpoint") {
  const dist::Communicator world = dist::connect(dist::single_process());
  ControlExchange control(world.control);
  control.post({}, Meter{2.5, 1, 2, 4, 0});
  control.discard();
  REQUIRE(control.pending().loss == 2.5);
  REQUIRE(control.collect() == dist::ControlMessage{});
}

TEST_CASE("metrics stay pending if the other rank is lost") {
  test::run_ranks(2, "lost", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    if (env.rank == 1) return;  // closes its connections
    ControlExchange control(world.control);
    control.post({}, Meter{2.5, 1, 2, 4, 0}, 7);
    REQUIRE_THROWS(control.collect());
    REQUIRE(control.pending().loss == 2.5);
  });
}
