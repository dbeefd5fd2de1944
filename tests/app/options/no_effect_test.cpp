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

// Returns IdleLine::reason of an option that is read only by optimizers with any bit of `uses`.
std::string of_optimizers(unsigned uses) {
  return "--optimizer " + app::alternatives(app::optimizers_with(uses, &ops::OptimizerInfo::name)) +
         ".";
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

// A line that reports an option.
struct IdleLine {
  std::string option;  // "--NAME", the line's first word
  std::string reason;  // words that no other reason contains; a period stands for the line's end
};

struct IdleCase {
  Words words;
  std::vector<IdleLine> expected;
  train::Surroundings here = two_hosts();
  bool continued = false;
};

void check_idle(const IdleCase& row) {
  const std::string text = idle_text(parsed(row.words), row.here, row.continued);
  INFO(joined(row.words, " ") << "\n" << text);
  const Words lines = split(text, '\n');
  REQUIRE(lines.size() == row.expected.size());
  for (size_t i = 0; i < lines.size(); ++i)
    CHECK_THAT(lines[i] + ".",
               StartsWith(row.expected[i].option + " ") && Contains(row.expected[i].reason));
}

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
  const IdleLine late = {"--unfreeze-epoch", "that epoch"};
  const IdleLine few = {"--patience", "too few"};
  const IdleLine timed = {"--epochs", "its schedule"};
  const IdleLine share = {"--epochs", "only scales"};
  const auto frozen = [](Words more) {
    Words words = {"--weights", "w.pt", "--freeze", "1"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  return {
      {frozen({"--epochs", "3", "--unfreeze-epoch", "3"}), {late}, with_stages()},
      {frozen({"--epochs", "3", "--unfreeze-epoch", "2"}), {}, with_stages()},
      {frozen({"--epochs", "2.1", "--unfreeze-epoch", "2"}), {}, with_stages()},
      {frozen({"--max-steps", "62", "--unfreeze-epoch", "2"}), {late}, with_stages()},
      {frozen({"--max-steps", "63", "--unfreeze-epoch", "2"}), {}, with_stages()},
      {frozen({"--time-budget", "1h", "--unfreeze-epoch", "1000"}), {}, with_stages()},
      {{"--weights", "w.pt", "--freeze", "all-but-head", "--unfreeze-epoch", "9", "--epochs", "9",
        "--layer-decay", "0.7"},
       {late, {"--layer-decay", "all-but-head"}},
       with_stages()},
      {{"--patience", "1", "--epochs", "1"}, {few}},
      // --patience 2 can stop a run after evaluation 3 at the earliest. This has an effect only if
      // there is a fourth evaluation.
      {{"--patience", "2", "--epochs", "3"}, {few}},
      {{"--patience", "2", "--epochs", "4"}, {}},
      {{"--patience", "2", "--epochs", "6", "--eval-every", "2"}, {few}},
      {{"--patience", "2", "--epochs", "7", "--eval-every", "2"}, {}},
      {{"--patience", "2", "--epochs", "9", "--max-steps", "31"}, {few}, one_process()},
      {{"--patience", "99", "--time-budget", "1h"}, {}},
      {{"--patience", "2", "--eval-every", "0", "--epochs", "1"}, {{"--patience", "--eval-every"}}},
      {{"--epochs", "5", "--time-budget", "1h"}, {timed}},
      {{"--epochs", "5", "--time-budget", "1h", "--schedule", "onecycle"}, {timed}},
      {{"--epochs", "5", "--time-budget", "1h", "--warmup-epochs", "1"}, {share}},
      {{"--epochs", "5", "--time-budget", "1h", "--schedule", "step", "--decay-epochs", "2"},
       {share}},
      {{"--time-budget", "1h"}, {}}};
}

std::vector<IdleCase> idle_cases() {
  return {
      {{"--weights", "w.pt"}, {{"--weights", "checkpoint"}}, two_hosts(), true},
      {{"--weights", "w.pt"}, {}},
      {{"--weights-cache", "c"}, {{"--weights-cache", "download"}}},
      {{"--weights-cache", "c", "--weights", "timm:resnet18"}, {}},
      {{"--export", "last"}, {{"--export", "--export-dir"}}},
      {{"--export", "last", "--export-dir", "m"}, {}},
      {{"--eval-only", "--export-dir", "m", "--epochs", "3", "--mixup-prob", "0.5", "--val-size",
        "64", "--amp"},
       {{"--mixup-prob", "trains nothing"},
        {"--epochs", "trains nothing"},
        {"--export-dir", "trains nothing"}}},
      {{"--data", "a", "--train", "b", "--val", "c"}, {{"--data", "--train and"}}},
      {{"--data", "a", "--train", "b"}, {}},
      {{"--eval-only", "--data", "a", "--val", "c"}, {{"--data", "--val locates"}}},
      {{"--eval-only", "--train", "b"}, {{"--train", "trains nothing"}}},
      {{"--eval-only", "--train", "b", "--val-split", "0.1"}, {}},
      {{"--size", "64", "--size-schedule", "1:64", "--val-size", "64"}, {{"--size", "--val-size"}}},
      {{"--channels", "1", "--grayscale", "0.5", "--color-jitter", "0.4", "--auto-augment", "v0"},
       {{"--auto-augment", "on color"},
        {"--color-jitter", "saturation"},
        {"--grayscale", "are grayscale"}}},
      {{"--channels", "1", "--color-jitter", "0.4,0.4,0"}, {}},
      {{"--channels", "3", "--grayscale", "0.5", "--auto-augment", "v0"}, {}},
      {{"--crop-pct", "0.9", "--val-resize", "300"}, {{"--crop-pct", "--val-resize"}}},
      {{"--size", "64", "--size-schedule", "1:64"}, {{"--size", "in training"}}},
      {{"--size", "64", "--val-size", "64"}, {}},
      {{"--optimizer", "adamw", "--momentum", "0.8", "--nesterov", "--alpha", "0.5", "--beta1",
        "0.8", "--eps", "1e-7", "--no-sync-bn"},
       {{"--momentum", of_optimizers(ops::kUsesMomentum)},
        {"--nesterov", "--optimizer sgd."},
        {"--alpha", of_optimizers(ops::kUsesAlpha)}}},
      {{"--beta1", "0.8", "--beta2", "0.9", "--eps", "1e-7", "--momentum", "0.5"},
       {{"--beta1", of_optimizers(ops::kUsesBetas)},
        {"--beta2", of_optimizers(ops::kUsesBetas)},
        {"--eps", of_optimizers(ops::kUsesEps)}}},
      {{"--optimizer", "adam", "--beta1", "0.8", "--eps", "1e-7"}, {}},
      {{"--optimizer", "lamb", "--beta2", "0.99", "--eps", "1e-7", "--momentum", "0.5"},
       {{"--momentum", of_optimizers(ops::kUsesMomentum)}}},
      {{"--decay-rate", "0.5", "--decay-epochs", "3", "--min-lr", "0.01"},
       {{"--decay-epochs", "not step"}, {"--decay-rate", "not step"}}},
      {{"--schedule", "step", "--decay-rate", "0.5", "--decay-epochs", "3", "--min-lr", "0.01"},
       {}},
      {{"--schedule", "step", "--decay-rate", "0.5", "--epochs", "30"},
       {{"--decay-rate", "first drop"}}},
      {{"--bce-threshold", "0", "--bce-sum", "--label-smoothing", "0.1"},
       {{"--bce-threshold", "not bce"}, {"--bce-sum", "not bce"}}},
      {{"--loss", "bce", "--bce-threshold", "0.2", "--bce-sum", "--label-smoothing", "0.1"},
       {{"--label-smoothing", "--bce-threshold"}}},
      {{"--loss", "bce", "--label-smoothing", "0.1"}, {}},
      {{"--loss", "bce", "--bce-threshold", "0.2", "--label-smoothing", "0.1", "--cutmix", "1"},
       {}},
      {{"--loss", "bce", "--bce-threshold", "0.2", "--label-smoothing", "0.1", "--class-weights",
        "balanced"},
       {}},
      {{"--schedule", "constant", "--min-lr", "0.01"}, {{"--min-lr", "neither cosine"}}},
      {{"--schedule", "onecycle", "--warmup-epochs", "5"}, {{"--warmup-epochs", "onecycle"}}},
      {{"--warmup-start", "0.1"}, {{"--warmup-start", "--warmup-epochs is"}}},
      {{"--warmup-epochs", "10", "--epochs", "5"}, {{"--warmup-epochs", "beyond"}}},
      {{"--mixup-prob", "0.5", "--mixup-mode", "elem"},
       {{"--mixup-prob", "neither --mixup"}, {"--mixup-mode", "neither --mixup"}}},
      {{"--mixup-switch-prob", "0.5", "--mixup", "0.2", "--mixup-prob", "0.5"},
       {{"--mixup-switch-prob", "not both"}}},
      {{"--mixup-switch-prob", "0.5", "--mixup", "0.2", "--cutmix", "1"}, {}},
      {{"--random-erase-count", "2", "--reprob", "0", "--random-erase-ratio", "0.5"},
       {{"--random-erase-count", "--random-erase is"},
        {"--random-erase-ratio", "--random-erase is"}}},
      {{"--random-erase-count", "2", "--random-erase", "0.2"}, {}},
      {{"--strength-schedule", "0:0.5,2:1"}, {{"--strength-schedule", "RandAugment"}}},
      {{"--strength-schedule", "0:0.5,2:1", "--auto-augment", "rand-m9"}, {}},
      {{"--max-steps", "9999", "--epochs", "2"}, {{"--max-steps", "earlier"}}},
      {{"--train-samples", "30"}, {{"--train-samples", "not come"}}},
      {{"--steps-per-epoch", "7", "--shuffle-buffer", "9", "--order", "chunked", "--cache", "1M"},
       {{"--steps-per-epoch", "not come"}, {"--shuffle-buffer", "--forward-reads"}}},
      {{"--shuffle-buffer", "9", "--order", "chunked", "--cache", "1M"},
       {{"--order", "sequentially"}, {"--cache", "sequentially"}},
       whole_files()},
      {{"--sync-bn", "--gradient-compression", "bf16", "--backend", "gloo", "--health-check", "off",
        "--sharded", "both", "--lost-host-timeout", "9"},
       {{"--sharded", "one host"},
        {"--sync-bn", "one process."},
        {"--gradient-compression", "one process."},
        {"--backend", "one process."},
        {"--lost-host-timeout", "one process."}},
       one_process()},
      {{"--sync-bn", "--backend", "gloo", "--sharded", "both", "--lost-host-timeout", "9"}, {}},
      {{"--forward-reads", "--collective-timeout", "60"},
       {{"--forward-reads", "tar,"}, {"--collective-timeout", "process, and"}},
       one_process()},
      {{"--forward-reads", "--collective-timeout", "60"}, {}, whole_files()},
      {{"--no-forward-reads", "--collective-timeout", "60"}, {}, with_val(true)},
      {{"--forward-reads", "--eval-only"}, {}, with_val(false)},
      {{"--batch-per-host", "--workers", "2"}, {{"--batch-per-host", "each host"}}},
      {{"--batch-per-host", "--workers", "2"}, {}, two_processes()},
      {{"--node-rank", "0", "--master-addr", "a"},
       {{"--node-rank", "--nnodes"}, {"--master-addr", "--nnodes"}}},
      {{"--node-rank", "0", "--nnodes", "2"}, {}}};
}

}  // namespace

TEST_CASE("each given option without effect is reported in one line") {
  for (const IdleCase& row : idle_cases()) check_idle(row);
}

TEST_CASE("options that a short or timed run never uses are reported") {
  for (const IdleCase& row : length_cases()) check_idle(row);
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
