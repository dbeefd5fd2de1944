#include "train/job/job.h"

#include <catch2/catch.hpp>
#include <functional>
#include <map>

#include "train/job/job_images.h"
#include "train/job/rank_loader_options.h"

using namespace shoal::train;

namespace {

Surroundings here(int64_t world = 1) {
  Surroundings s;
  s.world_size = s.local_world_size = world;
  s.train_images = 1000;
  s.val_images = 100;
  s.classes = 10;
  s.processors = 4;
  s.model.name = "efficientnet_b2";
  s.model.train_size = 260;
  s.model.eval_size = 288;
  s.model.eval_resize = 288;
  s.model.bicubic = true;
  return s;
}

}  // namespace

TEST_CASE("settings are resolved from the world size and the total number of images") {
  Job job;
  job.batch_size = 16;
  job.accumulate = 2;
  job.epochs = 3;
  job.schedule.lr = 0.1;
  job.scale_lr = 256;
  const auto r = resolve(job, here(2));
  REQUIRE(r.global_batch_size == 64);
  REQUIRE(r.steps_per_epoch == 15);
  REQUIRE(r.dropped_images == 40);
  REQUIRE(r.total_steps == 45);
  REQUIRE(r.last_step == 45);
  REQUIRE(r.schedule.lr == Approx(0.1 * 64 / 256));
  REQUIRE(r.threads == 2);
  REQUIRE(r.transform.size == 260);
  REQUIRE(r.val_size == 288);
  REQUIRE(r.model.classes == 10);
  REQUIRE(r.checkpoint_dir == "runs/shoal/checkpoints");
}

TEST_CASE("a stream needs the length of its epochs or of the run") {
  Job job;
  job.batch_size = 16;
  job.epochs = 4;
  auto s = here(2);
  s.train_images = 0;
  s.train_streamed = true;
  REQUIRE_THROWS_WITH(resolve(job, s),
                      Catch::Contains("--train-samples N") && Catch::Contains("--max-steps N"));
  job.train_samples = 1000;
  auto r = resolve(job, s);
  REQUIRE((r.steps_per_epoch == 31 && r.dropped_images == 8 && r.total_steps == 124));
  job.epoch_steps = 7;
  REQUIRE_THROWS_WITH(resolve(job, s), Catch::Contains("give one of them"));
  job.train_samples.reset();
  r = resolve(job, s);
  REQUIRE((r.steps_per_epoch == 7 && r.total_steps == 28 && !r.open_ended));
  job.epoch_steps.reset();
  job.max_steps = 100;
  r = resolve(job, s);
  REQUIRE((r.open_ended && r.total_steps == 100 && r.last_step == 100 && r.steps_per_epoch == 25));
  job.train_samples = 1000;
  REQUIRE_THROWS_WITH(resolve(job, here()), Catch::Contains("--train-samples works only with"));
}

TEST_CASE("hosts with sharded data make as many steps as the smallest shard allows") {
  Job job;
  job.batch_size = 16;
  job.sharded = "both";
  auto s = here(4);
  s.local_world_size = 2;
  s.train_images = 1000;
  s.smallest_share = 330;
  const auto r = resolve(job, s);
  REQUIRE((r.steps_per_epoch == 10 && r.dropped_images == 360));
  REQUIRE((r.train_sharded && r.val_sharded && r.local_world_size == 2));
  s.smallest_share = 31;
  REQUIRE_THROWS_WITH(resolve(job, s), Catch::Contains("only 31 training images"));
  s = here(2);
  REQUIRE_FALSE(resolve(job, s).train_sharded);  // ignored: there is one host
}

TEST_CASE("with --val-split, validation images are sharded like the training images") {
  Job job;
  job.val_split = 0.125;
  job.sharded = "train";
  auto s = here(4);
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
  auto s = here();
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
    CHECK(resolve(job, here()).val_resize == resize);
  }
  CHECK(resolve(job, here()).crop_pct == 1);
  job.val_resize = 200;
  CHECK(resolve(job, here()).val_resize == 200);
}

TEST_CASE("images are normalized as the model asks, unless the job says otherwise") {
  Job job;
  auto s = here();
  s.model.normalization = {{0.5, 0.4, 0.3}, {0.2, 0.2, 0.5}};
  CHECK(resolve(job, s).transform.normalization.mean == shoal::ChannelValues{0.5, 0.4, 0.3});
  job.std = {0.1, 0.2, 0.3};
  CHECK(resolve(job, s).transform.normalization.mean == shoal::ChannelValues{0.5, 0.4, 0.3});
  CHECK(resolve(job, s).transform.normalization.std == shoal::ChannelValues{0.1, 0.2, 0.3});
  job.channels = 1;
  CHECK_THROWS_WITH(resolve(job, s),
                    Catch::Contains("--std is 0.1,0.2,0.3") && Catch::Contains("--channels 1"));
  job.std.reset();
  const auto grey = resolve(job, s);
  CHECK(grey.model.channels == 1);
  CHECK(grey.transform.channels == 1);
  for (const double value : grey.transform.normalization.std) CHECK(value == Approx(0.3));
  job.mean = {0.7, 0.7, 0.7};
  CHECK(resolve(job, s).transform.normalization.mean == shoal::ChannelValues{0.7, 0.7, 0.7});
}

TEST_CASE("the schedule spans the epochs although max-steps ends the run") {
  Job job;
  job.batch_size = 100;
  job.epochs = 2.5;
  job.max_steps = 7;
  const auto r = resolve(job, here());
  REQUIRE(r.total_steps == 25);
  REQUIRE(r.last_step == 7);
}

TEST_CASE("the error for an impossible setting names it or says what to do") {
  const auto message = [](const Job& job, const Surroundings& s) -> std::string {
    try {
      resolve(job, s);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  Job job;
  job.global_batch_size = 30;
  REQUIRE(message(job, here(4)).find("choose a multiple of 4") != std::string::npos);
  job.global_batch_size = 32;
  job.batch_size = 32;
  REQUIRE(message(job, here(2)).find("--batch-size 32") != std::string::npos);
  job = {};
  job.batch_size = 5;
  job.mix.cutmix = 1;
  REQUIRE(message(job, here()).find("even") != std::string::npos);
  job = {};
  job.batch_size = 2000;
  REQUIRE(message(job, here()).find("1000 images") != std::string::npos);
  job = {};
  job.classes = 3;
  REQUIRE(message(job, here()).find("--classes is 3") != std::string::npos);
}

TEST_CASE("device and backend are taken from the surroundings") {
  Surroundings gpus = here(2);
  gpus.local_world_size = 2;
  gpus.on_gpu = true;
  gpus.gpu = 1;
  gpus.backend = "nccl";
  const ResolvedJob resolved = resolve(Job{}, gpus);
  CHECK(resolved.device == "cuda");
  CHECK(resolved.backend == "nccl");
  CHECK(resolved.gpu == 1);
  CHECK(resolve(Job{}, here()).device == "cpu");
  CHECK(resolve(Job{}, here()).backend == "none");
}

TEST_CASE("the batch and the workers of a host are divided among its processes") {
  Job job;
  job.batch_size = 256;
  job.workers = 9;
  job.batch_per_host = true;
  auto surroundings = here(4);
  surroundings.local_world_size = 2;
  const auto r = resolve(job, surroundings);
  REQUIRE(r.batch_size == 128);
  REQUIRE(r.global_batch_size == 512);
  REQUIRE(r.workers == 4);
}

TEST_CASE("the number of micro-batches per step follows from the two batch sizes") {
  Job job;
  job.batch_size = 16;
  job.global_batch_size = 128;
  const auto r = resolve(job, here(2));
  REQUIRE(r.accumulate == 4);
  REQUIRE(r.batch_size == 16);
  job.accumulate = 2;
  REQUIRE_THROWS_WITH(resolve(job, here(2)), Catch::Contains("give one of them"));
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
  const auto r = resolve(job, here(2));
  CHECK(r.transform.augment.policy == "rand-m9-mstd0.5-inc1");
  CHECK(r.transform.interpolation == shoal::data::Interpolation::random);
  CHECK(r.val_interpolation == shoal::data::Interpolation::bicubic);  // the model's own
  CHECK(r.transform.scale_max == 0.9);
  CHECK(r.transform.ratio_min == 0.5);
  CHECK(r.mix.group == 20);

  const auto refused = [&](auto change, const std::string& option) {
    Job bad = job;
    change(bad);
    CHECK_THROWS_WITH(resolve(bad, here(2)), Catch::Contains(option));
  };
  refused([](Job& j) { j.crop_scale_min = 0.95; }, "--crop-scale-min is 0.95");
  refused([](Job& j) { j.crop_ratio_max = 0.4; }, "--crop-ratio-min is 0.5");
  refused([](Job& j) { j.mix.erase_area_min = 0.5; }, "--random-erase-area-min is 0.5");
  refused([](Job& j) { j.schedule.min_lr = 1; }, "--min-lr");
  refused([](Job& j) { j.optimizer.momentum = 0, j.optimizer.nesterov = true; }, "--nesterov");
}

TEST_CASE("sizes and strengths by epoch are resolved for the run's length") {
  Job job;
  job.epochs = 40;
  job.batch_size = 16;
  job.size_schedule = "0:128,50%:128,50%:192,90%:240";
  job.strength_schedule = "0:0.5,40:1";
  const auto r = resolve(job, here(2));
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
  const auto m = resolve(scales, here(2));
  REQUIRE(m.progression.smallest == 160);
  REQUIRE(m.progression.largest == 288);
  REQUIRE(m.progression.update == 96);
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
  REQUIRE(resolve(job, here(2)).steps_per_epoch == 31);  // not doubled, because mixup is off
  job.mix.mixup = 0.2;
  const auto r = resolve(job, here(2));
  REQUIRE(r.global_batch_size == 32);
  REQUIRE(r.steps_per_epoch == 15);
  REQUIRE(r.dropped_images == 40);
  const auto options = loader_options(r, 1, true);
  REQUIRE(options.batch_size == 32);
  REQUIRE(options.rank == 1);
  REQUIRE(loader_options(r, 1, false).batch_size == 16);
  job.batch_size = 5;  // allowed: the loader's batch of 10 has whole pairs
  REQUIRE(resolve(job, here(2)).steps_per_epoch == 50);
}

TEST_CASE("frozen stages are given by number, by name or as all but the head") {
  shoal::models::ModelInfo model;
  model.name = "resnet18";
  model.stages = {"conv1", "layer1", "layer2", "fc"};
  CHECK(frozen_stages("none", model) == 0);
  CHECK(frozen_stages("0", model) == 0);
  CHECK(frozen_stages("2", model) == 2);
  CHECK(frozen_stages("conv1", model) == 1);
  CHECK(frozen_stages("layer2", model) == 3);
  CHECK(frozen_stages("all-but-head", model) == 3);
  for (const char* wrong : {"4", "-1", "fc", "layer5", "1x", ""})
    CHECK_THROWS_WITH(frozen_stages(wrong, model),
                      Catch::Contains("--freeze is '" + std::string(wrong) + "'") &&
                          Catch::Contains("conv1, layer1, layer2"));
  Job job;
  job.freeze = "1";
  CHECK_THROWS_WITH(check_values(job), Catch::Contains("--weights"));
}

TEST_CASE("balanced sampling and portions are refused where they cannot work") {
  const auto refused = [](const std::function<void(Job&, Surroundings&)>& change,
                          const std::string& first, const std::string& second) {
    Job job;
    job.batch_size = 16;
    Surroundings s = here();
    change(job, s);
    CHECK_THROWS_WITH(resolve(job, s), Catch::Contains(first) && Catch::Contains(second));
  };
  refused(
      [](Job& job, Surroundings&) {
        job.balance = 1;
        job.order = shoal::data::Order::chunked;
      },
      "--balance", "--order chunked");
  refused(
      [](Job& job, Surroundings&) {
        job.balance = 0.5;
        job.repeated_augmentation = 3;
      },
      "--balance", "--repeated-augmentation");
  refused(
      [](Job& job, Surroundings& s) {
        job.balance = 1;
        job.max_steps = 3;
        s.train_streamed = true;
      },
      "--balance", "pipe");
  refused(
      [](Job& job, Surroundings& s) {
        job.balance = 1;
        s.train_whole_files = true;
      },
      "--balance", "--no-forward-reads");
  refused([](Job& job, Surroundings&) { job.portion = {0.5, 3}; }, "--fraction", "--per-class");
  refused(
      [](Job& job, Surroundings&) {
        job.portion.per_class = 3;
        job.sharded = "train";
      },
      "--per-class", "--sharded");
  refused(
      [](Job& job, Surroundings&) {
        job.time_budget = 60;
        job.size_schedule = "0:64,2:128";
      },
      "--time-budget", "--size-schedule");
}

TEST_CASE("a balanced epoch counts the images of its steps, the same for any number of processes") {
  Job job;
  job.global_batch_size = 96;
  job.accumulate = 2;
  job.balance = 1;
  for (const int64_t world : {1, 2, 3}) {
    const auto r = resolve(job, here(world));
    const auto options = rank_loader_options(r, world - 1, true);
    CHECK(options.balance == 1);
    CHECK(options.batches * options.batch_size * options.world_size == 960);
    CHECK(rank_loader_options(r, 0, false).balance == 0);
    CHECK(rank_loader_options(r, 0, false).batches == 0);
  }
}

TEST_CASE("with a time budget, only --max-steps limits the number of steps") {
  Job job;
  job.batch_size = 16;
  job.time_budget = 60;
  CHECK(resolve(job, here()).last_step == kNoLastStep);
  job.max_steps = 7;
  CHECK(resolve(job, here()).last_step == 7);
}
