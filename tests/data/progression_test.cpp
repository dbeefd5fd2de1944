#include "data/progression.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <stdexcept>

#include "data/loader/loader.h"
#include "tests/data/support.h"

using namespace shoal::data;

namespace {

// Properties of the batches of one epoch.
struct Seen {
  std::vector<int64_t> sides;  // image side of each batch, in pixels
  uint64_t hash = 0;
  bool mixed = false;
};

Seen sides_of(Loader& loader, int64_t epoch) {
  Seen seen;
  loader.start_epoch(epoch);
  while (const Batch* batch = loader.next()) {
    REQUIRE(batch->height == batch->width);
    seen.sides.push_back(batch->height);
    for (const Row& row : batch->rows) seen.mixed |= row.lambda != 1;
  }
  seen.hash = loader.stats().hash;
  return seen;
}

Seen sides_of(const LoaderOptions& options, int64_t epoch = 0) {
  Loader loader(made_dataset(48), options);
  return sides_of(loader, epoch);
}

LoaderOptions progressive(int64_t batch_size = 8) {
  LoaderOptions options;
  options.seed = 5;
  options.batch_size = batch_size;
  options.transform.size = 64;
  options.hash = true;
  return options;
}

}  // namespace

TEST_CASE("a schedule is linear between its points, and jumps if two points have the same epoch") {
  const EpochSchedule schedule = parse_epoch_schedule("2:100,4:200,6:200,6:50,50%:10").over(20);
  const std::map<double, double> expected = {{0, 100}, {2, 100}, {3, 150}, {4, 200},  {5.5, 200},
                                             {6, 50},  {8, 30},  {10, 10}, {1000, 10}};
  for (const auto& [epoch, value] : expected) {
    INFO(epoch);
    CHECK(schedule.at(epoch) == Approx(value));
  }
  CHECK(parse_epoch_schedule("none").empty());
  CHECK(parse_epoch_schedule("3:1").at(0) == 1);
}

TEST_CASE("malformed schedules are refused") {
  for (const char* text : {"", "3", "3:", ":3", "3:1,", ",3:1", "3:1;4:2", "a:1", "3:b", "-1:2",
                           "1:-2", "3%%:1", "1:nan", "inf:1", "3:1 "}) {
    INFO(text);
    CHECK_THROWS_AS(parse_epoch_schedule(text), std::invalid_argument);
  }
}

// Tests the schedule of FFCV's ResNet-50 (160 pixels up to epoch 65, then rising to 192 pixels in
// epoch 76), and one of four stages as in EfficientNetV2.
TEST_CASE("sizes follow the schedule in multiples of 32") {
  Progression ffcv;
  ffcv.sizes = parse_epoch_schedule("65:160,76:192").over(88);
  CHECK(ffcv.side(0, 0) == 160);
  CHECK(ffcv.side(70, 0) == 160);
  CHECK(ffcv.side(71, 0) == 192);
  CHECK(ffcv.side(87, 0) == 192);
  CHECK(ffcv.largest_side() == 192);
  Progression stages;
  stages.sizes = parse_epoch_schedule("25%:128,25%:192,50%:192,50%:256,75%:256,75%:288").over(8);
  std::vector<int64_t> sides;
  for (int64_t epoch = 0; epoch < 8; ++epoch) sides.push_back(stages.side(epoch, 0));
  CHECK(sides == std::vector<int64_t>{128, 128, 192, 192, 256, 256, 288, 288});
  CHECK(stages.strength(3) == 1);
  CHECK(Progression{.size = 100}.side(2, 3) == 100);
}

TEST_CASE("batches have the size of their epoch, including prefetched ones of the next epoch") {
  LoaderOptions options = progressive();
  options.progression.sizes = parse_epoch_schedule("0:32,1:96,2:64");
  Loader loader(made_dataset(48), options);
  const std::map<int64_t, int64_t> expected = {{0, 32}, {1, 96}, {2, 64}};
  for (const auto& [epoch, side] : expected)
    CHECK(sides_of(loader, epoch).sides == std::vector<int64_t>(6, side));
  // The pixels equal those of a loader with only this size.
  LoaderOptions fixed = progressive();
  fixed.transform.size = 96;
  CHECK(sides_of(options, 1).hash == sides_of(fixed, 1).hash);
}

TEST_CASE("each step has its own size, on every rank and for every batch size") {
  LoaderOptions options = progressive(8);
  options.progression.smallest = 32;
  options.progression.largest = 128;
  options.progression.images_per_step = 16;  // two batches of 8
  const Seen alone = sides_of(options);
  REQUIRE(alone.sides.size() == 6);
  std::set<int64_t> sides;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const Seen seen = sides_of(options, epoch);
    for (size_t i = 0; i < 6; i += 2) {
      CHECK(seen.sides[i] == seen.sides[i + 1]);
      sides.insert(seen.sides[i]);
    }
  }
  CHECK(sides == std::set<int64_t>{32, 64, 96, 128});
  uint64_t sum = 0;
  options.world_size = 2;
  for (options.rank = 0; options.rank < 2; ++options.rank) {
    const Seen half = sides_of(options);
    CHECK(half.sides == std::vector<int64_t>{alone.sides[0], alone.sides[2], alone.sides[4]});
    sum += half.hash;
  }
  CHECK(sum == alone.hash);
  options.rank = 0;
  options.world_size = 1;
  options.progression.images_per_step = 12;
  CHECK_THROWS_AS(sides_of(options), std::invalid_argument);
}

TEST_CASE("strength scales mixup's alpha and RandAugment's magnitude") {
  LoaderOptions options = progressive();
  options.mix.mixup = 0.4;
  options.progression.strengths = parse_epoch_schedule("0:0,1:0.5,2:1");
  LoaderOptions plain = progressive();
  CHECK_FALSE(sides_of(options, 0).mixed);
  CHECK(sides_of(options, 0).hash == sides_of(plain, 0).hash);
  plain.mix.mixup = 0.2;
  CHECK(sides_of(options, 1).hash == sides_of(plain, 1).hash);
  plain.mix.mixup = 0.4;
  CHECK(sides_of(options, 2).hash == sides_of(plain, 2).hash);
  options.mix.mixup = plain.mix.mixup = 0;
  for (const auto& [whole, half] : std::map<std::string, std::string>{
           {"rand-m8-n3-mstd0.5-inc1", "rand-m4-n3-mstd0.5-inc1"}, {"ra-m20-n2", "ra-m10-n2"}}) {
    INFO(whole);
    options.transform.augment.policy = whole;
    plain.transform.augment.policy = half;
    CHECK(sides_of(options, 1).hash == sides_of(plain, 1).hash);
    plain.transform.augment.policy = whole;
    CHECK(sides_of(options, 2).hash == sides_of(plain, 2).hash);
    CHECK(sides_of(options, 1).hash != sides_of(plain, 1).hash);
  }
  // AutoAugment is not scaled, because its magnitudes are fixed.
  options.transform.augment.policy = plain.transform.augment.policy = "original";
  CHECK(sides_of(options, 1).hash == sides_of(plain, 1).hash);
}
