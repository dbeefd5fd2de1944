#include "train/control/unreadable_images.h"

#include <catch2/catch.hpp>

using namespace shoal::train;

TEST_CASE("up to 1 % of the training images may be unreadable") {
  ResolvedJob job;
  job.train_images = 400;
  job.global_batch_size = 8;
  UnreadableImages unreadable(job);
  unreadable.begin_epoch();
  CHECK(unreadable.take_new(3) == 3);
  CHECK(unreadable.take_new(5) == 2);
  CHECK(unreadable.add(3, 1).empty());
  CHECK(unreadable.add(1, 2).empty());
  CHECK_THAT(unreadable.add(1, 3), Catch::Contains("5 of 400 training images"));
  unreadable.begin_epoch();
  CHECK(unreadable.take_new(1) == 1);
  CHECK(unreadable.add(4, 1).empty());
}

TEST_CASE("a stream may have 100 unreadable images, then 1 % of those seen") {
  ResolvedJob job;
  job.open_ended = true;
  job.global_batch_size = 8;
  UnreadableImages unreadable(job);
  unreadable.begin_epoch();
  CHECK(unreadable.add(100, 1).empty());
  CHECK(unreadable.add(60, 2000).empty());
  CHECK_THAT(unreadable.add(1, 2000), Catch::Contains("161 of 16000 training images"));
}
