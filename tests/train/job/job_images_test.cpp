#include "train/job/job_images.h"

#include <catch2/catch.hpp>

#include "tests/train/job/job_support.h"
#include "train/job/rank_loader_options.h"

using namespace shoal::train;

TEST_CASE("with --val-split, validation images are sharded like the training images") {
  Job job;
  job.val_split = 0.125;
  job.sharded = "train";
  auto s = surroundings(4);
  s.local_world_size = 2;
  const auto r = resolve(job, s);
  CHECK((r.train_sharded && r.val_sharded));
  CHECK(val_split_in({{"epochs", "3"}, {"val_split", "0.125"}}) == 0.125);
  CHECK(val_split_in({}) == 0);  // settings of an older version
  job.sharded = "val";
  CHECK_THROWS_WITH(resolve(job, s), Catch::Contains("--sharded val does not work with"));
}

TEST_CASE("--size also sets the evaluation size, with the model's ratio of resize to crop") {
  Job job;
  job.size = 112;
  auto s = surroundings();
  s.model.eval_size = 224;
  s.model.eval_resize = 256;
  const auto r = resolve(job, s);
  REQUIRE(r.val_size == 112);
  REQUIRE(r.val_resize == 128);
  job.val_size = 224;
  REQUIRE(resolve(job, s).val_size == 224);
}

TEST_CASE(
    "--crop-pct sets the size before the evaluation crop as timm does, --val-resize directly") {
  Job job;
  job.val_size = 224;
  const std::vector<std::pair<double, int64_t>> timm = {
      {0.875, 256}, {0.9, 248}, {0.882, 253}, {0.95, 235}, {1, 224}};
  for (const auto& [share, resize] : timm) {
    job.crop_pct = share;
    CHECK(resolve(job, surroundings()).val_resize == resize);
  }
  CHECK(resolve(job, surroundings()).crop_pct == 1);
  job.val_resize = 200;
  CHECK(resolve(job, surroundings()).val_resize == 200);
}

TEST_CASE("images are normalized as the model asks, unless the job says otherwise") {
  Job job;
  auto s = surroundings();
  s.model.normalization = {{0.5, 0.4, 0.3}, {0.2, 0.2, 0.5}};
  CHECK(resolve(job, s).transform.normalization.mean == shoal::ChannelValues{0.5, 0.4, 0.3});
  job.std = {0.1, 0.2, 0.3};
  CHECK(resolve(job, s).transform.normalization.mean == shoal::ChannelValues{0.5, 0.4, 0.3});
  CHECK(resolve(job, s).transform.normalization.std == shoal::ChannelValues{0.1, 0.2, 0.3});
  job.channels = 1;
  CHECK_THROWS_WITH(resolve(job, s),
                    Catch::Contains("--std is 0.1,0.2,0.3") && Catch::Contains("--channels 1"));
  job.std.reset();
  const auto gray = resolve(job, s);
  CHECK(gray.model.channels == 1);
  CHECK(gray.transform.channels == 1);
  for (const double value : gray.transform.normalization.std) CHECK(value == Approx(0.3));
  job.mean = {0.7, 0.7, 0.7};
  CHECK(resolve(job, s).transform.normalization.mean == shoal::ChannelValues{0.7, 0.7, 0.7});
}

TEST_CASE("transform and augmentation are resolved, and contradictory values are refused") {
  Job job;
  job.batch_size = 10;
  job.augment.policy = "rand-m9-mstd0.5-inc1";
  job.interpolation = shoal::data::Interpolation::random;
  job.crop_scale_max = 0.9;
  job.crop_ratio_min = 0.5;
  job.mix.cutmix = 1;
  job.mix.mode = shoal::data::MixMode::batch;
  job.mix.erase = 0.25;
  job.mix.erase_fill = shoal::data::EraseFill::noise;
  job.repeated_augmentation = 3;
  const auto r = resolve(job, surroundings(2));
  CHECK(r.transform.augment.policy == "rand-m9-mstd0.5-inc1");
  CHECK(r.transform.interpolation == shoal::data::Interpolation::random);
  CHECK(r.val_interpolation == shoal::data::Interpolation::bicubic);  // the model's own
  CHECK(r.transform.scale_max == 0.9);
  CHECK(r.transform.ratio_min == 0.5);
  CHECK(r.mix.group == 20);

  const auto refused = [&](auto change, const std::string& option) {
    Job bad = job;
    change(bad);
    CHECK_THROWS_WITH(resolve(bad, surroundings(2)), Catch::Contains(option));
  };
  refused([](Job& j) { j.crop_scale_min = 0.95; }, "--crop-scale-min is 0.95");
  refused([](Job& j) { j.crop_ratio_max = 0.4; }, "--crop-ratio-min is 0.5");
  refused([](Job& j) { j.mix.erase_area_min = 0.5; }, "--random-erase-area-min is 0.5");
  refused([](Job& j) { j.schedule.min_lr = 1; }, "--min-lr");
  refused([](Job& j) { j.schedule.min_lr = 0.05, j.scale_lr = 1'000'000; }, "--scale-lr");
  refused([](Job& j) { j.optimizer.momentum = 0, j.optimizer.nesterov = true; }, "--nesterov");
}

TEST_CASE("sizes and strengths by epoch are resolved for the run's length") {
  Job job;
  job.epochs = 40;
  job.batch_size = 16;
  job.size_schedule = "0:128,50%:128,50%:192,90%:240";
  job.strength_schedule = "0:0.5,40:1";
  const auto r = resolve(job, surroundings(2));
  REQUIRE(r.progression.side(19, 0) == 128);
  REQUIRE(r.progression.side(20, 0) == 192);
  REQUIRE(r.progression.side(39, 0) == 256);  // 240, rounded to a multiple of 32
  REQUIRE(r.progression.strength(20) == Approx(0.75));
  REQUIRE(r.transform.size == 256);  // the last size of the schedule
  REQUIRE(r.val_size == 288);        // the model's own
  Job scales;
  scales.multi_scale = "160-288";
  scales.batch_size = 16;
  scales.accumulate = 3;
  const auto m = resolve(scales, surroundings(2));
  REQUIRE(m.progression.smallest == 160);
  REQUIRE(m.progression.largest == 288);
  REQUIRE(m.progression.images_per_step == 96);
  REQUIRE(m.transform.size == 260);
}

TEST_CASE("invalid schedules of sizes and strengths are refused by the option's name") {
  const auto refused = [](const Job& job, const std::string& option) {
    INFO(option);
    REQUIRE_THROWS_WITH(check_values(job), Catch::Matchers::StartsWith(option + " is '"));
  };
  for (const char* text : {"0:16", "0:5000", "8:64,4:96", "128", "0:128,x"}) {
    Job job;
    job.size_schedule = text;
    refused(job, "--size-schedule");
  }
  Job strong;
  strong.strength_schedule = "0:11";
  refused(strong, "--strength-schedule");
  for (const char* text : {"160", "160-", "-160", "288-160", "100-200", "160-288x", "0-64"}) {
    Job job;
    job.multi_scale = text;
    refused(job, "--multi-scale");
  }
  Job both;
  both.multi_scale = "160-288";
  both.size_schedule = "0:128";
  REQUIRE_THROWS_WITH(check_values(both), Catch::Matchers::Contains("omit one"));
}

TEST_CASE("in mixup's half mode, a step uses twice as many images") {
  Job job;
  job.batch_size = 16;
  job.mix.mode = shoal::data::MixMode::half;
  REQUIRE(resolve(job, surroundings(2)).steps_per_epoch ==
          31);  // not doubled, because mixup is off
  job.mix.mixup = 0.2;
  const auto r = resolve(job, surroundings(2));
  REQUIRE(r.global_batch_size == 32);
  REQUIRE(r.steps_per_epoch == 15);
  REQUIRE(r.dropped_images == 40);
  const auto options = loader_options(r, 1, true);
  REQUIRE(options.batch_size == 32);
  REQUIRE(options.rank == 1);
  REQUIRE(loader_options(r, 1, false).batch_size == 16);
  job.batch_size = 5;  // allowed: the loader's batch of 10 has whole pairs
  REQUIRE(resolve(job, surroundings(2)).steps_per_epoch == 50);
}
