#include "train/control/unreadable_images.h"

#include <catch2/catch.hpp>

using namespace shoal::train;

TEST_CASE("up to 1 % of the training images may be unreadable") {
  ResolvedJob job;
  job.train_images = 400;
  job.global_batch_size = 8;
  int64_t in_epoch = 0;
  UnreadableImages unreadable(job, in_epoch);
  unreadable.begin_epoch(0);
  CHECK(unreadable.take_new(3) == 3);
  CHECK(unreadable.take_new(5) == 2);
  CHECK(unreadable.add(3, 1).empty());
  CHECK(unreadable.add(1, 2).empty());
  CHECK_THAT(unreadable.add(1, 3), Catch::Contains("5 of 400 training images"));
  unreadable.begin_epoch(0);
  CHECK(unreadable.take_new(1) == 1);
  CHECK(unreadable.add(4, 1).empty());
}

TEST_CASE("a resumed epoch continues its count; without new unreadable images, the run goes on") {
  ResolvedJob job;
  job.train_images = 400;
  job.global_batch_size = 8;
  int64_t in_epoch = 3;  // from the checkpoint
  UnreadableImages unreadable(job, in_epoch);
  unreadable.begin_epoch(2);
  CHECK(unreadable.add(1, 3).empty());
  CHECK_THAT(unreadable.add(1, 4), Catch::Contains("5 of 400 training images"));
  unreadable.begin_epoch(4);
  CHECK(unreadable.add(0, 5).empty());
  CHECK(in_epoch == 5);
}

TEST_CASE("a stream may have 100 unreadable images, then 1 % of those seen") {
  ResolvedJob job;
  job.open_ended = true;
  job.global_batch_size = 8;
  int64_t in_epoch = 0;
  UnreadableImages unreadable(job, in_epoch);
  unreadable.begin_epoch(0);
  CHECK(unreadable.add(100, 1).empty());
  CHECK(unreadable.add(60, 2000).empty());
  CHECK_THAT(unreadable.add(1, 2000), Catch::Contains("161 of 16000 training images"));
  job.mix = {.mixup = 0.2, .mode = shoal::data::MixMode::half};  // reads twice as many images
  CHECK(unreadable.add(1, 2000).empty());
}
