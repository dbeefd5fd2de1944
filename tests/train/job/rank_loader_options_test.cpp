#include "train/job/rank_loader_options.h"

#include <catch2/catch.hpp>

using namespace shoal::train;

namespace {

ResolvedJob two_hosts_of_two() {
  ResolvedJob job;
  job.world_size = 4;
  job.local_world_size = 2;
  job.batch_size = 8;
  job.accumulate = 2;
  job.steps_per_epoch = 5;
  job.seed = 7;
  return job;
}

}  // namespace

TEST_CASE("if all hosts have the same images, all ranks divide them") {
  const ResolvedJob job = two_hosts_of_two();
  for (const bool train : {true, false}) {
    const auto options = rank_loader_options(job, 3, train);
    CHECK(options.rank == 3);
    CHECK(options.world_size == 4);
    CHECK(options.hosts == 2);
    CHECK(options.seed == 7);
    CHECK(options.batches == (train ? 10 : 0));
    CHECK_FALSE(options.uneven);
  }
}

TEST_CASE("if each host has its own images, its ranks divide them") {
  ResolvedJob job = two_hosts_of_two();
  job.train_sharded = job.val_sharded = true;
  const auto first = rank_loader_options(job, 1, true), second = rank_loader_options(job, 3, true);
  for (const auto& options : {first, second}) {
    CHECK(options.rank == 1);
    CHECK(options.world_size == 2);
    CHECK(options.hosts == 1);
    CHECK(options.batches == 10);
    CHECK_FALSE(options.uneven);
  }
  CHECK(first.seed == 7);
  CHECK(second.seed != 7);  // each host has its own order
  CHECK(rank_loader_options(job, 2, true).seed == second.seed);

  const auto val = rank_loader_options(job, 2, false);
  CHECK(val.rank == 0);
  CHECK(val.world_size == 2);
  CHECK(val.batches == 0);
  CHECK(val.uneven);  // hosts may have different numbers of images
}

TEST_CASE("a stream ends after the steps of an epoch, unless the epoch's length is unknown") {
  ResolvedJob job = two_hosts_of_two();
  job.train_streamed = true;
  CHECK(rank_loader_options(job, 1, true).batches == 10);
  CHECK(rank_loader_options(job, 1, false).batches == 0);
  job.open_ended = true;
  CHECK(rank_loader_options(job, 1, true).batches == 0);
}
