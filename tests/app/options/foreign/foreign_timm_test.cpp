// Tests options of timm's train.py and of torchvision's references.
#include <catch2/catch.hpp>

#include "tests/app/options/parsed.h"

using namespace shoal;
using Catch::Contains;
using test::parsed;
using Words = std::vector<std::string>;

TEST_CASE("augmentation options of timm and torchvision are accepted") {
  const train::Job job = parsed({"--aa",
                                 "rand-m9-mstd0.5-inc1",
                                 "--reprob",
                                 "0.25",
                                 "--remode",
                                 "pixel",
                                 "--recount",
                                 "2",
                                 "--scale",
                                 "0.2,0.9",
                                 "--ratio",
                                 "0.7,1.4",
                                 "--aug-repeats",
                                 "3",
                                 "--train-interpolation",
                                 "random",
                                 "--mixup-mode",
                                 "elem",
                                 "--color-jitter",
                                 "0.4"})
                             .job;
  CHECK(job.augment.policy == "rand-m9-mstd0.5-inc1");
  CHECK(job.augment.color_jitter == "0.4");
  CHECK(job.mix.erase == 0.25);
  CHECK(job.mix.erase_fill == data::EraseFill::noise);
  CHECK(job.mix.erase_count == 2);
  CHECK(job.mix.mode == data::MixMode::elem);
  CHECK(job.crop_scale_min == 0.2);
  CHECK(job.crop_scale_max == 0.9);
  CHECK(job.crop_ratio_min == 0.7);
  CHECK(job.crop_ratio_max == 1.4);
  CHECK(job.repeated_augmentation == 3);
  CHECK(job.interpolation == data::Interpolation::random);
  CHECK_THROWS_WITH(parsed({"--scale", "0.2"}), Contains("use MIN,MAX"));
  CHECK_THROWS_WITH(parsed({"--aa", "rand-m9-w0"}), Contains("--auto-augment is 'rand-m9-w0'") &&
                                                        Contains("'w0'") && Contains("tweights"));
  CHECK(parsed({"--augmenter_name", "randaugment"}).job.augment.policy == "rand-m10-n2");
}

TEST_CASE("preprocessing options of timm and torchvision are accepted") {
  const train::Job job = parsed({"--input-size", "1,96,96", "--crop-pct", "0.9", "--mean", "0.5",
                                 "--std", "0.2,0.3,0.4", "--hflip", "0", "--vflip", "0.5"})
                             .job;
  CHECK(job.size == 96);
  CHECK(job.channels == 1);
  CHECK(job.crop_pct == 0.9);
  CHECK(job.mean == ChannelValues{0.5, 0.5, 0.5});
  CHECK(job.std == ChannelValues{0.2, 0.3, 0.4});
  CHECK(job.hflip == 0);
  CHECK(job.vflip == 0.5);
  const train::Job other = parsed({"--train-crop-size", "176", "--val-crop-size", "224",
                                   "--val-resize-size", "232", "--in-chans", "3"})
                               .job;
  CHECK(other.size == 176);
  CHECK(other.val_size == 224);
  CHECK(other.val_resize == 232);
  CHECK(other.channels == 3);
  const std::string json = "hyperparameters.json";
  CHECK(parsed({}, {{"mean", "0.5 0.25 0.125", json}}).job.mean == ChannelValues{0.5, 0.25, 0.125});
  CHECK(parsed({}, {{"std", "[0.5, 0.25, 0.125]", json}}).job.std ==
        ChannelValues{0.5, 0.25, 0.125});
  CHECK(parsed({}, {{"input_size", "3 64 64", json}}).job.size == 64);
  const train::Job words = parsed({"--input-size", "3", "96", "96", "--scale", "0.3", "1.0",
                                   "--mean", "0.5", "0.25", "0.125", "--vflip", "0.5", "photos"})
                               .job;  // lists as separate words, as in timm
  CHECK(words.size == 96);
  CHECK(words.crop_scale_min == 0.3);
  CHECK(words.mean == ChannelValues{0.5, 0.25, 0.125});
  CHECK(words.data == "photos");
  CHECK_THROWS_WITH(parsed({"--input-size", "3,224,192"}), Contains("CHANNELS,SIDE,SIDE"));
  CHECK_THROWS_WITH(parsed({"--mean", "123.675"}), Contains("--mean is '123.675'"));
  CHECK_THROWS_WITH(parsed({"--std", "0"}), Contains("--std is '0'") && Contains("above 0"));
  CHECK_THROWS_WITH(parsed({"--in-chans", "4"}), Contains("1 or 3"));
}

TEST_CASE("timm's --lr-base is for 256 images unless --lr-base-size is given") {
  const auto scale = [](const Words& words) { return parsed(words).job.scale_lr; };
  CHECK(scale({"--lr-base", "0.1"}) == 256);
  CHECK(scale({"--lr-base", "0.1", "--lr-base-size", "512"}) == 512);
  CHECK_FALSE(scale({"--lr-base", "0.1", "--lr", "0.2"}));
  for (const char* name : {"adamw", "adam", "lamb"})
    CHECK_THROWS_WITH(scale({"--lr-base", "0.1", "--opt", name}), Contains("square root"));
}

TEST_CASE("--lr-base on the command line overrides a learning rate from a file") {
  const auto lr = [](const Words& words) {
    return parsed(words, {{"lr", "0.1", "args.yaml:7"}}).job.schedule;
  };
  CHECK(lr({"--lr-base", "0.2"}).lr == 0.2);
  CHECK(lr({"--lr-base", "0.2", "--lr", "0.3"}).lr == 0.3);
}

TEST_CASE("if one source has --lr and --lr-base, as timm's args.yaml, --lr counts") {
  const auto job = [](const std::string& lr, const std::string& optimizer) {
    return parsed({}, {{"lr", lr, "args.yaml:7"},
                       {"lr_base", "0.2", "args.yaml:8"},
                       {"lr_base_size", "256", "args.yaml:9"},
                       {"opt", optimizer, "args.yaml:10"}})
        .job;
  };
  CHECK(job("0.048", "rmsproptf").schedule.lr == 0.048);
  CHECK_FALSE(job("0.048", "rmsproptf").scale_lr);
  CHECK(job("5e-3", "lamb").schedule.lr == 5e-3);
  CHECK(job("null", "sgd").schedule.lr == 0.2);
  CHECK(job("null", "sgd").scale_lr == 256);
  const std::vector<app::Setting> variables = {{"lr", "0.05", "SM_HP_LR"},
                                               {"lr_base", "0.2", "SM_HP_LR_BASE"}};
  CHECK(parsed({}, variables).job.schedule.lr == 0.05);
  const std::vector<app::Setting> file = {{"lr", "0.05", "args.yaml:7"}};
  CHECK(parsed({"--lr", "null", "--lr-base", "0.2"}, file).job.schedule.lr == 0.2);
}

TEST_CASE("timm's --reprob erases with noise unless --remode is given") {
  const auto fill = [](const Words& words) { return parsed(words).job.mix.erase_fill; };
  CHECK(fill({"--reprob", "0.25"}) == data::EraseFill::noise);
  CHECK(fill({"--remode", "const", "--reprob", "0.25"}) == data::EraseFill::constant);
  CHECK(fill({"--reprob", "0"}) == data::EraseFill::constant);
}

TEST_CASE("timm's options of binary cross-entropy are accepted") {
  const train::Job job =
      parsed({"--bce-loss", "--bce-target-thresh", "0.2", "--bce-sum", "--smoothing", "0"}).job;
  CHECK(job.loss == train::Loss::binary);
  CHECK(job.bce_threshold == 0.2);
  CHECK(job.bce_sum);
  const train::Job plain = parsed({}).job;
  CHECK(plain.loss == train::Loss::cross_entropy);
  CHECK_FALSE(plain.bce_threshold);
  CHECK_FALSE(plain.bce_sum);
  const std::string file = "args.yaml";
  const std::vector<app::Setting> off = {{"bce_loss", "false", file},
                                         {"bce_target_thresh", "null", file}};
  CHECK(parsed({}, off).job.loss == train::Loss::cross_entropy);
  CHECK_FALSE(parsed({}, off).job.bce_threshold);
  CHECK(parsed({"--loss", "ce"}, {{"bce_loss", "true", file}}).job.loss ==
        train::Loss::cross_entropy);
}

TEST_CASE("--opt selects timm's optimizers, and lamb includes timm's clipping") {
  using Kind = train::OptimizerOptions::Kind;
  const auto optimizer = [](const Words& words) { return parsed(words).job.optimizer; };
  CHECK(optimizer({"--opt", "adam"}).kind == Kind::adam);
  CHECK(optimizer({"--opt", "adam"}).clip == 0);
  CHECK(optimizer({"--opt", "lamb"}).kind == Kind::lamb);
  CHECK(optimizer({"--opt", "lamb"}).clip == 1);
  CHECK(optimizer({"--opt", "lamb", "--clip-grad", "5"}).clip == 5);
  CHECK(optimizer({"--clip", "5", "--opt", "lamb"}).clip == 5);
  CHECK(parsed({"--clip", "5", "--opt", "lamb"}).ineffective.empty());
  const auto in_file = [](const std::string& clip) {
    return parsed({}, {{"clip_grad", clip, "args.yaml"}, {"opt", "lamb", "args.yaml"}}).job;
  };
  CHECK(in_file("0.5").optimizer.clip == 0.5);
  CHECK(in_file("null").optimizer.clip == 1);
  CHECK(optimizer({"--optimizer", "lamb"}).clip == 0);
  CHECK(optimizer({"--opt", "rmsproptf"}).eps == 1e-10);
  CHECK(optimizer({"--opt-eps", "0.001", "--opt", "rmsproptf"}).eps == 0.001);
  const auto overridden = [](const std::string& opt, const Words& words) {
    return parsed(words, {{"opt", opt, "args.yaml"}}).job.optimizer;
  };
  CHECK(overridden("rmsproptf", {"--optimizer", "adamw"}).eps ==
        optimizer({"--optimizer", "adamw"}).eps);
  CHECK(overridden("lamb", {"--optimizer", "sgd"}).clip == 0);
  CHECK(overridden("lamb", {"--opt", "rmsproptf"}).eps == 1e-10);
  CHECK(optimizer({"--opt", "rmsprop"}).kind == ops::OptimizerKind::rmsprop_torch);
  CHECK(optimizer({"--opt", "rmsprop", "--opt-eps", "0.0316"}).eps == 0.0316);
  CHECK_THROWS_WITH(parsed({"--opt", "lion"}), Contains("adam and lamb"));
}

TEST_CASE("--ra-sampler turns repeated augmentation on, and --ra-reps alone does not") {
  const auto repeats = [](const Words& words) { return parsed(words).job.repeated_augmentation; };
  CHECK(repeats({"--ra-sampler"}) == 3);
  CHECK(repeats({"--ra-sampler", "--ra-reps", "4"}) == 4);
  CHECK(repeats({"--ra_reps=4", "--ra_sampler"}) == 4);
  CHECK(parsed({"--ra-sampler", "--ra-reps", "4"}).ineffective.empty());
  const Arguments alone = parsed({"--ra-reps", "4"});
  CHECK(alone.job.repeated_augmentation == 1);
  REQUIRE(alone.ineffective.size() == 1);
  CHECK_THAT(alone.ineffective[0], Contains("--ra-sampler"));
  const std::string json = "hyperparameters.json";
  CHECK(parsed({}, {{"ra_reps", "2", json}, {"ra_sampler", "", json}}).job.repeated_augmentation ==
        2);
}
