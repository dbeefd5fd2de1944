#include "train/control/epoch_agreement.h"

#include <signal.h>

#include <catch2/catch.hpp>

#include "data/sources/synthetic.h"
#include "tests/support/spawn_ranks.h"
#include "train/control/stop.h"

using namespace shoal;
using namespace shoal::train;
using Catch::Matchers::Contains;

namespace {

ResolvedJob job_of_four_images_a_step() {
  ResolvedJob job;
  job.batch_size = 2;
  job.accumulate = 2;
  job.steps_per_epoch = 10;
  return job;
}

}  // namespace

TEST_CASE("images that every rank can read need no agreement") {
  const ResolvedJob job = job_of_four_images_a_step();
  dist::Communicator world = dist::connect(dist::single_process());
  EpochAgreement agreement(job, world);
  data::LoaderOptions options;
  options.batch_size = 2;
  options.transform.size = 32;
  data::Loader loader(data::make_synthetic({.images = 8, .distinct = 2}), options);
  REQUIRE(agreement.all_ranks_have_data(loader, 1000));
}

TEST_CASE("the epoch continues while every rank has data") {
  test::run_ranks(2, "agree", [](const dist::Env& env) {
    const ResolvedJob job = job_of_four_images_a_step();
    dist::Communicator world = dist::connect(env);
    EpochAgreement agreement(job, world);
    REQUIRE(agreement.agree(true));
    REQUIRE_FALSE(agreement.agree(env.rank == 0));
    REQUIRE(agreement.stop_signal() == 0);

    // A rank that has data makes its next step first, and reacts to a signal after it.
    if (env.rank == 1) request_stop(SIGINT);
    REQUIRE(agreement.agree(true));
    REQUIRE(agreement.stop_signal() == 0);
    REQUIRE_FALSE(agreement.agree(env.rank == 0));
    REQUIRE(agreement.stop_signal() == SIGINT);
    world.shutdown();
  });
}

TEST_CASE("the message at an epoch's end names the ranks without images and counts unused images") {
  ResolvedJob job = job_of_four_images_a_step();
  CHECK_THAT(epoch_end_message(job, 2, 3, {{3, true}, {9, true}, {0, true}}),
             Contains("epoch 2") && Contains("3 of 10 steps") && Contains("rank 0, 2 had") &&
                 Contains("12 images") && !Contains("at least") && !Contains("streams"));
  CHECK_THAT(epoch_end_message(job, 2, 3, {{3, true}, {9, false}, {5, false}}),
             Contains("rank 0 had") && Contains("at least 17 images") &&
                 Contains("2 streams were closed"));
  job.open_ended = true;
  CHECK_THAT(epoch_end_message(job, 2, 3, {{0, true}}), Contains("after 3 steps"));
}

TEST_CASE("an epoch without a step is an error with the number of images that a step needs") {
  ResolvedJob job = job_of_four_images_a_step();
  CHECK_THROWS_WITH(epoch_end_message(job, 1, 0, {{8, true}, {3, true}}),
                    Contains("epoch 1") && Contains("rank 1") && Contains("4 per rank"));
  job.mix.mixup = 0.2;
  CHECK_THROWS_WITH(epoch_end_message(job, 1, 0, {{8, true}, {3, true}}),
                    Contains(std::to_string(4 * job.mix.images_per_row()) + " per rank"));
}
