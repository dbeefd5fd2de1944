#include "train/job/job.h"

#include <catch2/catch.hpp>
#include <functional>

#include "tests/train/job/job_support.h"
#include "train/job/rank_loader_options.h"

using namespace shoal::train;

TEST_CASE("settings are resolved from the world size and the total number of images") {
  Job job;
  job.batch_size = 16;
  job.accumulate = 2;
  job.epochs = 3;
  job.schedule.lr = 0.1;
  job.scale_lr = 256;
  const auto r = resolve(job, surroundings(2));
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

// The documentation names these times, and jobs rely on them.
TEST_CASE("without options, a stop, a lost host and a checkpoint have their documented times") {
  const Job job;
  CHECK(job.stop_timeout == 60);
  CHECK(job.lost_host_timeout == 120);
  CHECK(job.checkpoint_minutes == 15);
}

TEST_CASE("a stream needs the length of its epochs or of the run") {
  Job job;
  job.batch_size = 16;
  job.epochs = 4;
  auto s = surroundings(2);
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
  r = resolve(job, surroundings());  // not a stream: train_samples is ignored
  REQUIRE((r.steps_per_epoch == 62 && r.train_images == 1000));
}

TEST_CASE("hosts with sharded data make as many steps as the smallest shard allows") {
  Job job;
  job.batch_size = 16;
  job.sharded = "both";
  auto s = surroundings(4);
  s.local_world_size = 2;
  s.train_images = 1000;
  s.smallest_share = 330;
  const auto r = resolve(job, s);
  REQUIRE((r.steps_per_epoch == 10 && r.dropped_images == 360));
  REQUIRE((r.train_sharded && r.val_sharded && r.local_world_size == 2));
  s.smallest_share = 31;
  REQUIRE_THROWS_WITH(resolve(job, s), Catch::Contains("only 31 training images"));
  s = surroundings(2);
  REQUIRE_FALSE(resolve(job, s).train_sharded);  // ignored: there is one host
}

TEST_CASE("the schedule spans the epochs although max-steps ends the run") {
  Job job;
  job.batch_size = 100;
  job.epochs = 2.5;
  job.max_steps = 7;
  const auto r = resolve(job, surroundings());
  REQUIRE(r.total_steps == 25);
  REQUIRE(r.last_step == 7);
}

TEST_CASE("the error for an impossible setting names it or says what to do") {
  const auto message = [](const Job& job, const Surroundings& s) -> std::string {
    try {
      resolve(job, s);
    } catch (const shoal::UserError& error) {
      return error.what();
    }
    return "";
  };
  Job job;
  job.global_batch_size = 30;
  REQUIRE(message(job, surroundings(4)).find("choose a multiple of 4") != std::string::npos);
  job.global_batch_size = 32;
  job.batch_size = 32;
  REQUIRE(message(job, surroundings(2)).find("--batch-size 32") != std::string::npos);
  job = {};
  job.batch_size = 5;
  job.mix.cutmix = 1;
  REQUIRE(message(job, surroundings()).find("even") != std::string::npos);
  job = {};
  job.batch_size = 2000;
  REQUIRE(message(job, surroundings()).find("1000 images") != std::string::npos);
  job = {};
  job.classes = 3;
  REQUIRE(message(job, surroundings()).find("--classes is 3") != std::string::npos);
}

TEST_CASE("--bce-threshold must be between the targets of the label and of the other classes") {
  Job job;
  job.loss = Loss::binary;
  job.label_smoothing = 0.1;  // with 10 classes, the targets are 0.91 and 0.01
  for (const double threshold : {0.0, 0.01, 0.91, 0.95}) {
    job.bce_threshold = threshold;
    INFO(threshold);
    REQUIRE_THROWS_WITH(resolve(job, surroundings()),
                        Catch::Contains("--bce-threshold") && Catch::Contains("--label-smoothing"));
  }
  job.bce_threshold = 0.2;
  REQUIRE(resolve(job, surroundings()).bce_threshold == 0.2);
  job.bce_threshold = 0;
  job.label_smoothing = 0;
  REQUIRE_NOTHROW(resolve(job, surroundings()));
  job.label_smoothing = 0.1;
  job.loss = Loss::cross_entropy;  // ignores the threshold
  REQUIRE_NOTHROW(resolve(job, surroundings()));
}

TEST_CASE("a batch of one image of 32 pixels is refused, because batch norm cannot learn from it") {
  Job job;
  job.batch_size = 1;
  job.size = 32;
  REQUIRE_THROWS_WITH(require_statistics(resolve(job, surroundings())),
                      Catch::Contains("batch normalization"));
  job.sync_bn = true;
  REQUIRE_NOTHROW(require_statistics(resolve(job, surroundings(2))));
  job.sync_bn = false;
  job.size = 64;
  REQUIRE_NOTHROW(require_statistics(resolve(job, surroundings())));
  job.size.reset();
  job.size_schedule = "0:40,4:64";  // 40 is rounded to 32
  REQUIRE_THROWS_WITH(require_statistics(resolve(job, surroundings())),
                      Catch::Contains("batch normalization"));
  job.freeze_bn = true;
  REQUIRE_NOTHROW(require_statistics(resolve(job, surroundings())));
}

TEST_CASE("the largest side of training images is that of the model, --size or the schedule") {
  Job job;
  CHECK(resolve(job, surroundings()).progression.largest_side() == 260);
  job.size = 64;
  CHECK(resolve(job, surroundings()).progression.largest_side() == 64);
  job.size_schedule = "0:96,20:192,40:160";
  CHECK(resolve(job, surroundings()).progression.largest_side() == 192);
}

TEST_CASE("device and backend are taken from the surroundings") {
  Surroundings gpus = surroundings(2);
  gpus.local_world_size = 2;
  gpus.on_gpu = true;
  gpus.gpu = 1;
  gpus.backend = "nccl";
  const ResolvedJob resolved = resolve(Job{}, gpus);
  CHECK(resolved.device == "cuda");
  CHECK(resolved.backend == "nccl");
  CHECK(resolved.gpu == 1);
  CHECK(resolve(Job{}, surroundings()).device == "cpu");
  CHECK(resolve(Job{}, surroundings()).backend == "none");
}

TEST_CASE("the batch and the workers of a host are divided among its processes") {
  Job job;
  job.batch_size = 256;
  job.workers = 9;
  job.batch_per_host = true;
  auto here = surroundings(4);
  here.local_world_size = 2;
  const auto r = resolve(job, here);
  REQUIRE(r.batch_size == 128);
  REQUIRE(r.global_batch_size == 512);
  REQUIRE(r.workers == 4);
}

TEST_CASE("the number of micro-batches per step follows from the two batch sizes") {
  Job job;
  job.batch_size = 16;
  job.global_batch_size = 128;
  const auto r = resolve(job, surroundings(2));
  REQUIRE(r.accumulate == 4);
  REQUIRE(r.batch_size == 16);
  job.accumulate = 2;
  REQUIRE_THROWS_WITH(resolve(job, surroundings(2)), Catch::Contains("give one of them"));
}

TEST_CASE("TensorBoard's folder and the period of histograms are resolved") {
  Job job;
  job.output = "runs/a";
  job.batch_size = 10;  // 100 steps per epoch
  CHECK(resolve(job, surroundings()).tensorboard == "runs/a/tensorboard");
  CHECK(resolve(job, surroundings()).histogram_steps == 0);
  job.tensorboard = "events";
  job.histograms = "2e";
  CHECK(resolve(job, surroundings()).tensorboard == "events");
  CHECK(resolve(job, surroundings()).histogram_steps == 200);
  job.histograms = "7";
  CHECK(resolve(job, surroundings()).histogram_steps == 7);
  job.tensorboard = "none";
  CHECK(resolve(job, surroundings()).tensorboard.empty());
  CHECK(resolve(job, surroundings()).histogram_steps == 0);
  job.tensorboard = "";
  job.eval_only = true;
  CHECK(resolve(job, surroundings()).tensorboard.empty());
  for (const char* wrong : {"0", "e", "1.5e", "-1", "5x", ""})
    CHECK_THROWS_AS(steps_of_period(wrong, 10), std::invalid_argument);
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
    Surroundings s = surroundings();
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
    const auto r = resolve(job, surroundings(world));
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
  CHECK(resolve(job, surroundings()).last_step == kNoLastStep);
  job.max_steps = 7;
  CHECK(resolve(job, surroundings()).last_step == 7);
}
