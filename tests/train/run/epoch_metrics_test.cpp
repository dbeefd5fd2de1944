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
    REQUIRE(metrics.last_step()->loss == 3);
    metrics.add(mine);
    metrics.reduce();
    REQUIRE(epoch_sum.loss == 10);
    REQUIRE_FALSE(metrics.last_step());  // reduce() was not given it
    world.shutdown();
  });
}

TEST_CASE(
    "without a collective, the epoch's sum is exact if the other ranks' metrics have arrived") {
  test::run_ranks(2, "alone", [](const dist::Env& env) {
    dist::Communicator world = dist::connect(env);
    const Meter mine{env.rank + 1.0, 1, 2, 4, 0}, all{3, 2, 4, 8, 0};
    for (const bool arrives : {true, false}) {
      Meter epoch_sum{10, 0, 0, 100, 0};
      train::EpochMetrics metrics(world.main, epoch_sum, /*step=*/7);
      metrics.add_arrived(all, 7);  // a resumed run's message, which epoch_sum includes
      metrics.add(mine);
      metrics.reduce();
      metrics.add(mine);
      metrics.add_arrived(all, 8);  // before the last reduce()
      metrics.add_arrived(all, 9);
      metrics.add(mine);
      if (arrives) metrics.add_arrived(all, 10);
      REQUIRE(metrics.last_step().has_value() == arrives);
      REQUIRE(metrics.reduce_alone() == arrives);
      REQUIRE(epoch_sum.images == (arrives ? 124 : 116));
      REQUIRE(epoch_sum.loss == 13 + (arrives ? 6 : 2 * mine.loss));
    }
    world.shutdown();
  });
}
