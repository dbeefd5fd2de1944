#include "app/options/settings/saved_settings.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "app/options/no_effect.h"
#include "app/options/settings/implied_settings.h"
#include "tests/app/options/parsed.h"
#include "train/checkpoint/changed_settings.h"

using namespace shoal;
using app::Arguments;
using app::Command;
using test::parsed;

namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;

const Settings kSaved = {{"model", "resnet18"},
                         {"classes", "10"},
                         {"dropout", "0.25"},
                         {"size", "96"},
                         {"val_size", "128"},
                         {"epochs", "7"},
                         {"global_batch_size", "64"},
                         {"lr", "0.30000000000000004"},
                         {"ema", "off"},
                         {"nesterov", "true"},
                         {"train_images", "12"},
                         {"schedule", "cosine"}};

}  // namespace

TEST_CASE("options that are not given come from the checkpoint, with full precision") {
  Arguments arguments = parsed({"--resume"});
  app::take_saved_settings(arguments, kSaved, 10);
  const train::Job& job = arguments.job;
  CHECK(job.model.name == "resnet18");
  CHECK(job.model.dropout == 0.25);
  CHECK(job.size == 96);
  CHECK(job.val_size == 128);
  CHECK(job.epochs == 7);
  CHECK(job.global_batch_size == 64);
  CHECK(job.schedule.lr == 0.1 + 0.2);
  CHECK(job.optimizer.nesterov);
  CHECK_FALSE(job.ema);
  CHECK_FALSE(job.classes);  // both runs take it from the data
  CHECK(arguments.origins.at("epochs") == "checkpoint");
}

TEST_CASE("the checkpoint's model replaces the one that follows from the name of --weights") {
  Arguments arguments = parsed({"--resume", "--weights", "torchvision:resnet50"});
  app::imply_settings(arguments);
  REQUIRE(arguments.job.model.name == "resnet50");
  app::take_saved_settings(arguments, kSaved, 10);
  CHECK(arguments.job.model.name == "resnet18");
}

TEST_CASE("options of the user or a recipe are kept; those that depend on them are not restored") {
  Arguments arguments = parsed({"--resume", "--epochs", "9", "--batch-size", "8", "--scale-lr",
                                "256", "--size", "64", "--recipe", "demo"});
  app::take_saved_settings(arguments, kSaved, 10);
  CHECK(arguments.job.epochs == 9);
  CHECK(arguments.job.size == 64);
  CHECK_FALSE(arguments.job.val_size);  // not restored, because it depends on the size
  CHECK(arguments.job.model.name == "efficientnet_b0");  // from the recipe

  arguments = parsed({"--batch-size", "8", "--scale-lr", "256", "--size", "64"});
  app::take_saved_settings(arguments, kSaved, 10);
  CHECK_FALSE(arguments.job.global_batch_size);
  CHECK_FALSE(arguments.job.val_size);
  CHECK(arguments.job.schedule.lr == train::Job().schedule.lr);
}

TEST_CASE("options for reading data come from the checkpoint unless the user sets them") {
  const std::vector<std::pair<std::string, std::string>> saved = {{"forward_reads", "false"},
                                                                  {"sharded", "none"}};
  Arguments arguments = parsed({"--resume"});
  app::apply(arguments, "forward-reads", "true", "SageMaker");
  app::apply(arguments, "sharded", "train", "SageMaker");
  app::take_saved_settings(arguments, saved, 10);
  CHECK_FALSE(arguments.job.forward_reads);
  CHECK(arguments.job.sharded == "train");  // not restored: describes where the data is now
  arguments = parsed({"--resume", "--forward-reads"});
  app::take_saved_settings(arguments, saved, 10);
  CHECK(arguments.job.forward_reads);
}

TEST_CASE("the held-out images are kept unless the user sets validation images") {
  const Settings saved = {{"val_split", "0.1"}};
  Arguments arguments = parsed({"--resume"});
  app::take_saved_settings(arguments, saved, 10);
  CHECK(arguments.job.val_split == 0.1);
  arguments = parsed({"--resume", "--val", "elsewhere"});
  app::take_saved_settings(arguments, saved, 10);
  CHECK(arguments.job.val_split == 0);
}

TEST_CASE("a number of classes above that of the data is kept") {
  Arguments arguments = parsed({"--resume"});
  app::take_saved_settings(arguments, kSaved, 8);
  CHECK(arguments.job.classes == 10);
}

TEST_CASE("evaluation restores only the model and the image sizes") {
  Arguments arguments = parsed({"--resume", "--eval-only"});
  app::take_saved_settings(arguments, kSaved, 10);
  CHECK(arguments.job.model.name == "resnet18");
  CHECK(arguments.job.val_size == 128);
  CHECK_FALSE(arguments.job.global_batch_size);
  CHECK(arguments.job.epochs == train::Job().epochs);
}

TEST_CASE("a recipe that the user did not name does not replace the checkpoint's settings") {
  Arguments arguments = parsed({"photos", "--resume"});  // implies a recipe, as --data is not given
  REQUIRE(arguments.recipe == "imagenet_example");
  app::take_saved_settings(arguments, kSaved, 10);
  CHECK(arguments.job.model.name == "resnet18");
  CHECK(arguments.job.size == 96);
  CHECK(arguments.job.val_size == 128);
  CHECK(arguments.job.global_batch_size == 64);
  CHECK_FALSE(arguments.job.batch_size);
  arguments = parsed({"photos", "--resume"});
  // Checkpoints of PyTorch's imagenet example contain no batch size.
  app::take_saved_settings(arguments, {{"epochs", "7"}}, 10);
  CHECK(arguments.job.batch_size == 256);
}

TEST_CASE("a restored learning rate is not scaled again") {
  // --train_batch_size and --max_epochs belong to the trainer in the examples of SMDDP, SageMaker's
  // library for data parallelism. They imply a recipe with scale-lr.
  Arguments arguments = parsed({"--train_batch_size", "8", "--max_epochs", "5", "--resume"});
  REQUIRE(arguments.job.scale_lr);
  app::take_saved_settings(arguments, kSaved, 10);
  CHECK(arguments.job.schedule.lr == 0.30000000000000004);
  CHECK_FALSE(arguments.job.scale_lr);
}

TEST_CASE("the number of micro-batches is computed again if both batch sizes are given") {
  const std::vector<std::pair<std::string, std::string>> saved = {{"global_batch_size", "64"},
                                                                  {"accumulate", "2"}};
  Arguments arguments = parsed({"--batch-size", "16", "--global-batch-size", "64", "--resume"});
  app::take_saved_settings(arguments, saved, 10);
  CHECK(arguments.job.accumulate == 1);  // resolve() makes it 4 with one process
  arguments = parsed({"--resume"});
  app::take_saved_settings(arguments, saved, 10);
  CHECK(arguments.job.accumulate == 2);
}

TEST_CASE("an invalid saved value is an error that names the option") {
  Arguments arguments = parsed({"--resume"});
  CHECK_THROWS_WITH(app::take_saved_settings(arguments, {{"schedule", "zigzag"}}, 1),
                    Catch::Contains("--schedule is 'zigzag' (checkpoint)"));
}

namespace {

// Resolves `arguments` for data with 10 classes. The data is a stream if a given option needs that.
train::ResolvedJob run_of(const Arguments& arguments) {
  train::Surroundings here;
  here.train_images = 1000;
  here.val_images = 100;
  here.classes = 10;
  here.train_streamed = arguments.job.train_samples || arguments.job.epoch_steps;
  here.train_whole_files = arguments.job.forward_reads;
  here.model.name = arguments.job.model.name;
  here.model.train_size = here.model.eval_size = here.model.eval_resize = 224;
  here.model.dropout = arguments.job.model.dropout.value_or(0.2);
  here.model.drop_path = arguments.job.model.drop_path.value_or(0.2);
  here.model.stages = {"stem", "layers", "classifier"};
  train::Job job = arguments.job;
  if (job.weights.empty() && job.freeze != "none") job.weights = "weights.pth";
  train::ResolvedJob run = train::resolve(job, here);
  run.settings = app::settings_of(run);
  return run;
}

std::string value_in(const train::ResolvedJob& run, std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  for (const train::SavedSetting& setting : run.settings)
    if (setting.name == name) return setting.value;
  return "not saved";
}

Settings pairs_of(const train::ResolvedJob& run) {
  Settings pairs;
  for (const train::SavedSetting& setting : run.settings)
    pairs.emplace_back(setting.name, setting.value);
  return pairs;
}

// Tries values of the option until one changes the saved setting. Returns the run with that value
// and stores the setting in `value`. Returns nothing if no value changes the setting.
std::optional<train::ResolvedJob> run_with(const app::Option& option, std::string& value) {
  std::vector<std::string> values = option.choices;
  for (const char* text : {"true", "false", "64", "2", "0.05", "0.5", "trivial", "0:128", "0:0.5",
                           "160-288", "0.4", "0.9", "resnet18"})
    values.emplace_back(text);
  const std::string usual = value_in(run_of(parsed({})), option.name);
  for (const std::string& text : values) {
    try {
      Arguments arguments = parsed({});
      app::apply(arguments, option.name, text, "command line");
      train::ResolvedJob run = run_of(arguments);
      value = value_in(run, option.name);
      if (value != usual) return run;
    } catch (const std::exception&) {  // not a value of this option
    }
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("every option that changes results is saved, restored and compared by its rule",
          "[single]") {
  using train::MayDiffer;
  const train::ResolvedJob usual = run_of(parsed({"--weights", "weights.pth"}));
  int count = 0;
  for (const app::Option& option : app::options()) {
    if (!option.saving) continue;
    ++count;
    INFO(option.name);
    std::string value;
    const auto run = run_with(option, value);
    REQUIRE(run);
    REQUIRE(value != "not saved");

    Arguments resumed = parsed({"--resume"});
    app::take_saved_settings(resumed, pairs_of(*run), 10);
    CHECK(value_in(run_of(resumed), option.name) == value);

    std::string name = option.name;
    std::replace(name.begin(), name.end(), '-', '_');
    const Settings saved = {{name, value}};
    const MayDiffer may_differ = option.saving->may_differ;
    if (may_differ == MayDiffer::always)
      CHECK_THAT(train::changed_settings(saved, {}, true, usual),
                 Catch::StartsWith(name + " " + value + " → "));
    else
      CHECK_THROWS_WITH(train::changed_settings(saved, {}, true, usual),
                        Catch::Contains(name + " " + value));
    if (may_differ == MayDiffer::between_epochs)
      CHECK_THAT(train::changed_settings(saved, {}, false, usual), Catch::StartsWith(name));
    if (may_differ != MayDiffer::always) CHECK_FALSE(option.saving->advice.empty());
  }
  CHECK(count >= 55);
}

TEST_CASE("a setting without effect in both runs may differ within an epoch") {
  using Settings = std::vector<std::pair<std::string, std::string>>;
  const auto refusal = [](const Settings& saved, const std::vector<std::string>& without_effect,
                          const std::vector<std::string>& words) {
    const Arguments arguments = parsed(words);
    train::ResolvedJob run = run_of(arguments);
    app::mark_effects(arguments, run);
    try {
      train::changed_settings(saved, without_effect, true, run);
      return std::string("none");
    } catch (const UserError& error) {
      return std::string(error.what());
    }
  };
  const Settings buffer = {{"shuffle_buffer", "9"}};
  CHECK(refusal(buffer, {"order", "shuffle_buffer"}, {}) == "none");
  CHECK_THAT(refusal(buffer, {"order"}, {}),
             Catch::Contains("within an epoch with shuffle_buffer 9"));
  CHECK_THAT(refusal(buffer, {"shuffle_buffer"}, {"--forward-reads"}),
             Catch::Contains("shuffle_buffer 9, this run has 1024"));
  // Whether --sharded has an effect depends on the hosts, so it always counts as having one.
  CHECK_THAT(refusal({{"sharded", "both"}}, {}, {}),
             Catch::Contains("within an epoch with sharded both"));
}

TEST_CASE("evaluation compares only the options it depends on") {
  train::ResolvedJob run = run_of(parsed({}));
  run.eval_only = true;
  CHECK(train::changed_settings({{"seed", "9"}, {"epochs", "1"}}, {}, true, run).empty());
  CHECK_THROWS_WITH(train::changed_settings({{"model", "resnet18"}}, {}, true, run),
                    Catch::Contains("resnet18"));
}

TEST_CASE("checkpoints save all training options except those known not to change results") {
  const std::set<std::string> kWithoutEffect = {
      // Where the data is and how to read it. Instead of these options, checkpoints save the class
      // names and the number of images.
      "data", "train", "val", "val-labels", "val-synsets", "tfrecord-keys",
      // Affect only the speed, not the pixels.
      "decoder",
      // Used only at a fresh start.
      "weights-entry", "weights-cache", "load-partial",
      // Not saved themselves, but included in two saved settings: global-batch-size and lr.
      "batch-size", "batch-per-host", "scale-lr",
      // Affect when a run ends, not its steps.
      "max-steps", "non-finite-limit"};
  const std::set<std::string> kElsewhere = {"General", "Where it runs", "Output and checkpoints",
                                            "Packing", "Measuring"};
  for (const app::Option& option : app::options()) {
    if (!(option.commands & static_cast<unsigned>(Command::train))) continue;
    if (kElsewhere.contains(option.group)) {
      INFO(option.name);
      CHECK_FALSE(option.saving);
      continue;
    }
    INFO(option.name);
    CHECK(option.saving.has_value() != kWithoutEffect.contains(option.name));
  }
}

TEST_CASE("settings with the values of all runs without options are known as defaults") {
  const auto differing = [](const std::vector<std::string>& words) {
    std::set<std::string> names;
    for (const train::SavedSetting& setting : run_of(parsed(words)).settings)
      if (!setting.is_default) names.insert(setting.name);
    return names;
  };
  const std::set<std::string> plain = differing({});
  for (const char* given : {"lr", "optimizer", "epochs", "seed", "hflip", "val_split", "nesterov"})
    CHECK_FALSE(plain.contains(given));
  // These depend on the model or the data.
  for (const char* computed : {"classes", "val_size", "global_batch_size", "train_images"})
    CHECK(plain.contains(computed));
  CHECK_FALSE(differing({"--lr", "0.1", "--nesterov=false"}).contains("lr"));  // the default
  const std::set<std::string> some = differing({"--lr", "0.2", "--nesterov"});
  CHECK((some.contains("lr") && some.contains("nesterov")));
  CHECK(some.size() == plain.size() + 2);
}
