#include "app/options/no_effect.h"

#include <catch2/catch.hpp>
#include <set>

#include "app/options/optimizer_names.h"
#include "app/options/options.h"
#include "base/text.h"
#include "tests/app/options/parsed.h"

using namespace shoal;
using app::Arguments;
using Catch::Contains;
using Catch::StartsWith;
using test::parsed;
using Words = std::vector<std::string>;

namespace {

// Returns the line about an option that belongs to the optimizers with any of the bits in `uses`.
std::string of_optimizers(const std::string& option, unsigned uses) {
  return "--" + option + " has no effect: it belongs to --optimizer " +
         app::alternatives(app::optimizers_with(uses, &ops::OptimizerInfo::name));
}

train::Surroundings one_process() {
  train::Surroundings here;
  here.train_images = 1000;
  here.val_images = 100;
  here.classes = 10;
  here.model.train_size = here.model.eval_size = 224;
  here.model.eval_resize = 256;
  return here;
}

train::Surroundings two_hosts() {
  train::Surroundings here = one_process();
  here.world_size = 2;
  return here;
}

train::Surroundings two_processes() {
  train::Surroundings here = two_hosts();
  here.local_world_size = 2;
  return here;
}

std::string idle_text(const Arguments& arguments, const train::Surroundings& here = two_hosts(),
                      bool continued = false) {
  std::string text;
  for (const std::string& line :
       app::no_effect({arguments, train::resolve(arguments.job, here), continued}))
    text += (text.empty() ? "" : "\n") + line;
  return text;
}

struct IdleCase {
  Words words;
  std::string expected;
  train::Surroundings here = two_hosts();
  bool continued = false;
};

train::Surroundings whole_files() {
  train::Surroundings here = two_hosts();
  here.train_whole_files = true;
  return here;
}

// Training on class folders, evaluation on a pipe (if `streamed`) or on tars.
train::Surroundings with_val(bool streamed) {
  train::Surroundings here = one_process();
  (streamed ? here.val_streamed : here.val_whole_files) = true;
  return here;
}

train::Surroundings with_stages() {
  train::Surroundings here = one_process();
  here.model.stages = {"stem", "features", "classifier"};
  return here;
}

// Cases about the length of a run. An epoch of one_process() has 31 steps.
std::vector<IdleCase> length_cases() {
  const std::string late = "--unfreeze-epoch has no effect: the run ends before that epoch";
  const std::string few = "--patience has no effect: the run has too few evaluations";
  const std::string timed = "--epochs has no effect: --time-budget sets the length of the run";
  const std::string share = "--epochs has no effect on the length of the run: --time-budget";
  const auto frozen = [](Words more) {
    Words words = {"--weights", "w.pt", "--freeze", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  return {{frozen({"--epochs", "3", "--unfreeze-epoch", "3"}), late, with_stages()},
          {frozen({"--epochs", "3", "--unfreeze-epoch", "2"}), "", with_stages()},
          {frozen({"--epochs", "2.1", "--unfreeze-epoch", "2"}), "", with_stages()},
          {frozen({"--max-steps", "62", "--unfreeze-epoch", "2"}), late, with_stages()},
          {frozen({"--max-steps", "63", "--unfreeze-epoch", "2"}), "", with_stages()},
          {frozen({"--time-budget", "1h", "--unfreeze-epoch", "1000"}), "", with_stages()},
          {{"--weights", "w.pt", "--freeze", "all-but-head", "--unfreeze-epoch", "9", "--epochs",
            "9", "--layer-decay", "0.7"},
           "--layer-decay has no effect: --freeze all-but-head trains the classifier alone; change "
           "--lr instead",
           with_stages()},
          {{"--patience", "1", "--epochs", "1"}, few},
          // Evaluations 2 and 3 may be worse than the first. The run ends with evaluation 3 or 4.
          {{"--patience", "2", "--epochs", "3"}, few},
          {{"--patience", "2", "--epochs", "4"}, ""},
          {{"--patience", "2", "--epochs", "6", "--eval-every", "2"}, few},
          {{"--patience", "2", "--epochs", "7", "--eval-every", "2"}, ""},
          {{"--patience", "2", "--epochs", "9", "--max-steps", "31"}, few, one_process()},
          {{"--patience", "99", "--time-budget", "1h"}, ""},
          {{"--patience", "2", "--eval-every", "0", "--epochs", "1"},
           "--patience has no effect: with --eval-every 0, only the end of the run is evaluated"},
          {{"--epochs", "5", "--time-budget", "1h"}, timed},
          {{"--epochs", "5", "--time-budget", "1h", "--schedule", "onecycle"}, timed},
          {{"--epochs", "5", "--time-budget", "1h", "--warmup-epochs", "1"}, share},
          {{"--epochs", "5", "--time-budget", "1h", "--schedule", "step", "--decay-epochs", "2"},
           share},
          {{"--time-budget", "1h"}, ""}};
}

std::vector<IdleCase> idle_cases() {
  return {
      {{"--weights", "w.pt"},
       "--weights has no effect: the run continues from a checkpoint, which contains the weights",
       two_hosts(),
       true},
      {{"--weights", "w.pt"}, ""},
      {{"--weights-cache", "c"},
       "--weights-cache has no effect: --weights names nothing to download"},
      {{"--weights-cache", "c", "--weights", "timm:resnet18"}, ""},
      {{"--export", "last"}, "--export has no effect: --export-dir is not given"},
      {{"--export", "last", "--export-dir", "m"}, ""},
      {{"--eval-only", "--export-dir", "m", "--epochs", "3", "--mixup-prob", "0.5", "--val-size",
        "64", "--amp"},
       "--mixup-prob has no effect: --eval-only trains nothing\n"
       "--epochs has no effect: --eval-only trains nothing\n"
       "--export-dir has no effect: --eval-only trains nothing"},
      {{"--data", "a", "--train", "b", "--val", "c"},
       "--data has no effect: --train and --val locate all images"},
      {{"--data", "a", "--train", "b"}, ""},
      {{"--eval-only", "--data", "a", "--val", "c"},
       "--data has no effect: --val locates the images"},
      {{"--eval-only", "--train", "b"}, "--train has no effect: --eval-only trains nothing"},
      {{"--eval-only", "--train", "b", "--val-split", "0.1"}, ""},
      {{"--size", "64", "--size-schedule", "1:64", "--val-size", "64"},
       "--size has no effect: --size-schedule or --multi-scale sets the size of training images, "
       "and --val-size that of evaluation images"},
      {{"--channels", "1", "--grayscale", "0.5", "--color-jitter", "0.4", "--auto-augment", "v0"},
       "--auto-augment has no effect on color: with --channels 1, images have no color\n"
       "--color-jitter has no effect on saturation and hue: with --channels 1, images have "
       "no "
       "color\n--grayscale has no effect: with --channels 1, all images are grayscale"},
      {{"--channels", "1", "--color-jitter", "0.4,0.4,0"}, ""},
      {{"--channels", "3", "--grayscale", "0.5", "--auto-augment", "v0"}, ""},
      {{"--crop-pct", "0.9", "--val-resize", "300"},
       "--crop-pct has no effect: --val-resize sets the size before the crop"},
      {{"--size", "64", "--size-schedule", "1:64"},
       "--size has no effect in training: --size-schedule or --multi-scale sets the size; "
       "evaluation uses --size"},
      {{"--size", "64", "--val-size", "64"}, ""},
      {{"--optimizer", "adamw", "--momentum", "0.8", "--nesterov", "--alpha", "0.5", "--beta1",
        "0.8", "--eps", "1e-7", "--no-sync-bn"},
       of_optimizers("momentum", ops::kUsesMomentum) + "\n" +
           "--nesterov has no effect: it belongs to --optimizer sgd\n" +
           of_optimizers("alpha", ops::kUsesAlpha)},
      {{"--beta1", "0.8", "--beta2", "0.9", "--eps", "1e-7", "--momentum", "0.5"},
       of_optimizers("beta1", ops::kUsesBetas) + "\n" + of_optimizers("beta2", ops::kUsesBetas) +
           "\n" + of_optimizers("eps", ops::kUsesEps)},
      {{"--optimizer", "adam", "--beta1", "0.8", "--eps", "1e-7"}, ""},
      {{"--optimizer", "lamb", "--beta2", "0.99", "--eps", "1e-7", "--momentum", "0.5"},
       of_optimizers("momentum", ops::kUsesMomentum)},
      {{"--decay-rate", "0.5", "--decay-epochs", "3", "--min-lr", "0.01"},
       "--decay-epochs has no effect: --schedule is not step\n"
       "--decay-rate has no effect: --schedule is not step"},
      {{"--schedule", "step", "--decay-rate", "0.5", "--decay-epochs", "3", "--min-lr", "0.01"},
       ""},
      {{"--schedule", "step", "--decay-rate", "0.5", "--epochs", "30"},
       "--decay-rate has no effect: the run ends before the first drop after --decay-epochs"},
      {{"--bce-threshold", "0", "--bce-sum", "--label-smoothing", "0.1"},
       "--bce-threshold has no effect: --loss is not bce\n"
       "--bce-sum has no effect: --loss is not bce"},
      {{"--loss", "bce", "--bce-threshold", "0.2", "--bce-sum", "--label-smoothing", "0.1"},
       "--label-smoothing has no effect: without mixup and cutmix, --bce-threshold makes all "
       "targets 0 or 1"},
      {{"--loss", "bce", "--label-smoothing", "0.1"}, ""},
      {{"--loss", "bce", "--bce-threshold", "0.2", "--label-smoothing", "0.1", "--cutmix", "1"},
       ""},
      {{"--loss", "bce", "--bce-threshold", "0.2", "--label-smoothing", "0.1", "--class-weights",
        "balanced"},
       ""},
      {{"--schedule", "constant", "--min-lr", "0.01"},
       "--min-lr has no effect: --schedule is neither cosine nor step"},
      {{"--schedule", "onecycle", "--warmup-epochs", "5"},
       "--warmup-epochs has no effect: --schedule onecycle has a warm-up of its own"},
      {{"--warmup-start", "0.1"}, "--warmup-start has no effect: --warmup-epochs is 0"},
      {{"--warmup-epochs", "10", "--epochs", "5"},
       "--warmup-epochs has no effect beyond --epochs: the learning rate rises until the run ends"},
      {{"--mixup-prob", "0.5", "--mixup-mode", "elem"},
       "--mixup-prob has no effect: neither --mixup nor --cutmix is above 0\n"
       "--mixup-mode has no effect: neither --mixup nor --cutmix is above 0"},
      {{"--mixup-switch-prob", "0.5", "--mixup", "0.2", "--mixup-prob", "0.5"},
       "--mixup-switch-prob has no effect: --mixup and --cutmix are not both above 0"},
      {{"--mixup-switch-prob", "0.5", "--mixup", "0.2", "--cutmix", "1"}, ""},
      {{"--random-erase-count", "2", "--reprob", "0", "--random-erase-ratio", "0.5"},
       "--random-erase-count has no effect: --random-erase is 0\n"
       "--random-erase-ratio has no effect: --random-erase is 0"},
      {{"--random-erase-count", "2", "--random-erase", "0.2"}, ""},
      {{"--strength-schedule", "0:0.5,2:1"},
       "--strength-schedule has no effect: RandAugment, AugMix, mixup, cutmix and dropout are all "
       "off"},
      {{"--strength-schedule", "0:0.5,2:1", "--auto-augment", "rand-m9"}, ""},
      {{"--max-steps", "9999", "--epochs", "2"},
       "--max-steps has no effect: the run ends earlier, after --epochs"},
      {{"--train-samples", "30"},
       "--train-samples has no effect: the training images do not come through a pipe"},
      {{"--steps-per-epoch", "7", "--shuffle-buffer", "9", "--order", "chunked", "--cache", "1M"},
       "--steps-per-epoch has no effect: the training images do not come through a pipe\n"
       "--shuffle-buffer has no effect: the training images neither come through a pipe nor are "
       "read with --forward-reads"},
      {{"--shuffle-buffer", "9", "--order", "chunked", "--cache", "1M"},
       "--order has no effect: the training images are read sequentially\n"
       "--cache has no effect: the training images are read sequentially",
       whole_files()},
      {{"--sync-bn", "--gradient-compression", "bf16", "--backend", "gloo", "--health-check", "off",
        "--sharded", "both", "--lost-host-timeout", "9"},
       "--sharded has no effect: there is one host\n"
       "--sync-bn has no effect: there is one process\n"
       "--gradient-compression has no effect: there is one process\n"
       "--backend has no effect: there is one process\n"
       "--lost-host-timeout has no effect: there is one process",
       one_process()},
      {{"--sync-bn", "--backend", "gloo", "--sharded", "both", "--lost-host-timeout", "9"}, ""},
      {{"--forward-reads", "--collective-timeout", "60"},
       "--forward-reads has no effect: no images are in tar, zip or record files\n"
       "--collective-timeout has no effect: there is one process, and no images come through a "
       "pipe",
       one_process()},
      {{"--forward-reads", "--collective-timeout", "60"}, "", whole_files()},
      {{"--no-forward-reads", "--collective-timeout", "60"}, "", with_val(true)},
      {{"--forward-reads", "--eval-only"}, "", with_val(false)},
      {{"--batch-per-host", "--workers", "2"},
       "--batch-per-host has no effect: there is one process on each host"},
      {{"--batch-per-host", "--workers", "2"}, "", two_processes()},
      {{"--node-rank", "0", "--master-addr", "a"},
       "--node-rank has no effect: --nnodes is 1\n"
       "--master-addr has no effect: --nnodes is 1"},
      {{"--node-rank", "0", "--nnodes", "2"}, ""}};
}

}  // namespace

TEST_CASE("each given option without effect is reported in one line") {
  for (const IdleCase& row : idle_cases()) {
    INFO(row.words.front() << " " << row.words.at(1));
    CHECK(idle_text(parsed(row.words), row.here, row.continued) == row.expected);
  }
}

TEST_CASE("options that a short or timed run never uses are reported") {
  for (const IdleCase& row : length_cases()) {
    INFO(joined(row.words, " "));
    const std::string text = idle_text(parsed(row.words), row.here);
    CHECK(text.empty() == row.expected.empty());
    CHECK_THAT(text, Contains(row.expected));
  }
}

TEST_CASE("every reason names options of train") {
  for (const app::NoEffect& row : app::no_effect_table()) {
    INFO(row.why);
    for (const std::string& option : row.options) {
      INFO(option);
      CHECK(app::find_option(app::Command::train, option) != nullptr);
    }
    CHECK((row.why.starts_with(": ") || row.why.find(": ") != row.why.npos));
    CHECK(row.why.back() != '.');
  }
}

TEST_CASE("values from recipes, checkpoints and the platform are not reported as without effect") {
  CHECK(idle_text(parsed({"--recipe", "resnet50", "--schedule", "cosine"})).empty());
  Arguments arguments = parsed({});
  app::apply(arguments, "decay-rate", "0.5", "checkpoint");
  app::apply(arguments, "sharded", "none", "SageMaker");
  CHECK(idle_text(arguments).empty());
  const std::vector<app::Setting> all = {{"decay_rate", "0.5", "hyperparameters.json"},
                                         {"alpha", "0.5", "SM_HPS"},
                                         {"beta1", "0.5", "SM_HP_BETA1"}};
  const Words idle = split(idle_text(parsed({}, all)), '\n');
  REQUIRE(idle.size() == 3);
  CHECK_THAT(idle[0], StartsWith("--alpha ") && Contains("--optimizer rmsprop"));
  CHECK_THAT(idle[1], StartsWith("--beta1 ") && Contains("adamw, adam or lamb"));
  CHECK_THAT(idle[2], StartsWith("--decay-rate ") && Contains("--schedule"));
}

TEST_CASE("values given twice under different names, and null, are reported") {
  const auto only_report = [](const Arguments& arguments) {
    REQUIRE(arguments.ineffective.size() == 1);
    return arguments.ineffective[0];
  };
  CHECK_THAT(only_report(parsed({"--data-dir", "a", "--data", "b"})),
             StartsWith("--data-dir a ") && Contains("--data b "));
  CHECK_THAT(only_report(parsed({"-b", "8", "--batch_size", "16"})),
             StartsWith("-b 8 ") && Contains("--batch-size 16 "));
  CHECK_THAT(only_report(parsed({}, {{"learning_rate", "1", "SM_HPS"}, {"lr", "2", "SM_HPS"}})),
             StartsWith("learning_rate 1 ") && Contains(" lr 2 "));
  CHECK_THAT(only_report(parsed({"--lr", "null"})), StartsWith("--lr ") && Contains("null"));
  // Repeating an option, or setting it in several sources, is not reported.
  CHECK(parsed({"--lr", "1", "--lr", "2", "--progress", "--no-progress"}).ineffective.empty());
  CHECK(parsed({"--data-dir", "a", "--data", "a"}).ineffective.empty());
  CHECK(parsed({"--lr", "1"}, {{"learning_rate", "2", "SM_HPS"}}).ineffective.empty());
  CHECK(parsed({"--mode", "eval", "--resume", "x"}).ineffective.empty());
  // no_effect() returns the lines of arguments.ineffective, then those that it finds itself.
  const Words idle = split(
      idle_text(parsed({"--gpu", "0", "--alpha", "0.5", "--wd", "1e-3", "--weight-decay", "0"})),
      '\n');
  REQUIRE(idle.size() == 3);
  CHECK_THAT(idle[0], StartsWith("--gpu ") && Contains("local rank"));
  CHECK_THAT(idle[1], StartsWith("--wd 1e-3 ") && Contains("--weight-decay 0 "));
  CHECK_THAT(idle[2], StartsWith("--alpha ") && Contains("--optimizer rmsprop"));
}
