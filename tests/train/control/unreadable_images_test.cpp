#include "train/control/unreadable_images.h"

#include <catch2/catch.hpp>

using namespace shoal::train;

TEST_CASE("one in a hundred training images may be bad, and not one more") {
  ResolvedJob job;
  job.train_images = 400;
  job.global_batch_size = 8;
  UnreadableImages bad(job);
  bad.begin_epoch();
  CHECK(bad.fresh(3) == 3);
  CHECK(bad.fresh(5) == 2);
  CHECK(bad.heard(3, 1).empty());
  CHECK(bad.heard(1, 2).empty());
  CHECK_THAT(bad.heard(1, 3), Catch::Contains("5 of 400 training images"));
  bad.begin_epoch();
  CHECK(bad.fresh(1) == 1);
  CHECK(bad.heard(4, 1).empty());
}

TEST_CASE("of a stream a hundred may be bad, then one in a hundred of those seen") {
  ResolvedJob job;
  job.open_ended = true;
  job.global_batch_size = 8;
  UnreadableImages bad(job);
  bad.begin_epoch();
  CHECK(bad.heard(100, 1).empty());
  CHECK(bad.heard(60, 2000).empty());
  CHECK_THAT(bad.heard(1, 2000), Catch::Contains("161 of 16000 training images"));
}
