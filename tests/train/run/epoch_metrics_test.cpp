#include "train/run/epoch_metrics.h"

#include <catch2/catch.hpp>

#include "dist/connect.h"
#include "tests/support/spawn_ranks.h"

using namespace shoal;
using train::Meter;

TEST_CASE("metrics of all ranks count once in the epoch's sum, however often they are reduced") {
  test::run_ranks(2, "metrics", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    Meter epoch_sum{1, 0, 0, 1, 0};  // as restored from a checkpoint
    train::EpochMetrics metrics(world.main, epoch_sum);
    const Meter mine{env.rank + 1.0, 1, 2, 4, 0};
    metrics.add(mine);
    metrics.add(mine);
    REQUIRE(epoch_sum.images == 1);
    Meter step = mine;
    metrics.reduce(step);
    REQUIRE(step.loss == 3);
    REQUIRE(step.images == 8);
    REQUIRE(epoch_sum.loss == 7);
    REQUIRE(epoch_sum.images == 17);
    metrics.reduce();
    REQUIRE(epoch_sum.images == 17);
    metrics.add(mine);
    metrics.reduce();
    REQUIRE(epoch_sum.loss == 10);
    world.shutdown();
  });
}
