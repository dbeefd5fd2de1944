#include "app/launch/pipes.h"

#include <catch2/catch.hpp>

#include "train/job/job.h"

using namespace shoal;
using app::PipeShare;
using Catch::Contains;

namespace {

const std::string kPath = "pipe:/data/train";

// Returns the environment of rank `rank`. Each of the `hosts` hosts runs `each` processes.
dist::Env rank_of(int rank, int hosts, int each) {
  dist::Env env;
  env.rank = rank;
  env.local_rank = rank % each;
  env.world_size = hosts * each;
  env.local_world_size = each;
  return env;
}

}  // namespace

TEST_CASE("a single pipe is shared by the processes of its host") {
  const app::PipeUse train{"--train", true, false}, shares{"--train", true, true};
  CHECK(app::pipe_share(kPath, train, rank_of(0, 1, 1)) == PipeShare{kPath, 0, 1});
  CHECK(app::pipe_share(kPath, train, rank_of(1, 3, 1)) == PipeShare{kPath, 1, 3});
  CHECK(app::pipe_share(kPath, shares, rank_of(1, 3, 1)) == PipeShare{kPath, 0, 1});
  CHECK(app::pipe_share(kPath, train, rank_of(5, 2, 4)) == PipeShare{kPath, 1, 2, true});
}

TEST_CASE("in evaluation, a single pipe is read by rank 0 or by the first process of each host") {
  const app::PipeUse val{"--val", false, false}, shares{"--val", false, true};
  CHECK(app::pipe_share(kPath, val, rank_of(0, 2, 2)) == PipeShare{kPath, 0, 1});
  for (const int rank : {1, 2, 3})
    CHECK(app::pipe_share(kPath, val, rank_of(rank, 2, 2)) == PipeShare{"pipe:", 0, 1});
  CHECK(app::pipe_share(kPath, shares, rank_of(2, 2, 2)) == PipeShare{kPath, 0, 1});
  CHECK(app::pipe_share(kPath, shares, rank_of(3, 2, 2)) == PipeShare{"pipe:", 0, 1});
}

TEST_CASE("one pipe per process of a host, or per rank, is read by that process") {
  const app::PipeUse train{"--train", true, false}, shares{"--train", true, true};
  const std::string two = kPath + "_{0..1}", four = kPath + "_{0..3}";
  CHECK(app::pipe_share(two, train, rank_of(3, 2, 2)) == PipeShare{kPath + "_1", 1, 2});
  CHECK(app::pipe_share(kPath + "_{08..11}", train, rank_of(1, 1, 4)) ==
        PipeShare{kPath + "_09", 0, 1});
  CHECK(app::pipe_share(two, shares, rank_of(3, 2, 2)) == PipeShare{kPath + "_1", 0, 1});
  CHECK(app::pipe_share(four, train, rank_of(3, 2, 2)) == PipeShare{kPath + "_3", 0, 1});
  CHECK(app::pipe_share(kPath + "_{4..5}", train, rank_of(0, 1, 2)) ==
        PipeShare{kPath + "_4", 0, 1});
  CHECK_THROWS_WITH(
      app::pipe_share(four, train, rank_of(0, 2, 3)),
      Contains("4 pipes") && Contains("3 of the 6 processes") && Contains("--nproc 4"));
  CHECK_THROWS_AS(app::pipe_share(two, train, rank_of(0, 1, 1)), UserError);
}
