#include "app/options/saved_settings.h"

#include <catch2/catch.hpp>

#include "tests/app/options/parsed.h"

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

TEST_CASE("what nobody named comes from the checkpoint, to the last digit") {
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
  CHECK_FALSE(job.classes);  // as many as the data has, then and now
  CHECK(arguments.origins.at("epochs") == "checkpoint");
}

TEST_CASE("what the user or a recipe named stays, with what depends on it") {
  Arguments arguments = parsed({"--resume", "--epochs", "9", "--batch-size", "8", "--scale-lr",
                                "256", "--size", "64", "--recipe", "demo"});
  app::take_saved_settings(arguments, kSaved, 10);
  CHECK(arguments.job.epochs == 9);
  CHECK(arguments.job.size == 64);
  CHECK_FALSE(arguments.job.val_size);                   // neither: it goes with the size
  CHECK(arguments.job.model.name == "efficientnet_b0");  // of the recipe

  arguments = parsed({"--batch-size", "8", "--scale-lr", "256", "--size", "64"});
  app::take_saved_settings(arguments, kSaved, 10);
  CHECK_FALSE(arguments.job.global_batch_size);
  CHECK_FALSE(arguments.job.val_size);
  CHECK(arguments.job.schedule.lr == train::Job().schedule.lr);
}

TEST_CASE("the way of reading is the checkpoint's, unless the user names another") {
  const std::vector<std::pair<std::string, std::string>> saved = {{"forward_reads", "false"},
                                                                  {"sharded", "none"}};
  Arguments arguments = parsed({"--resume"});
  app::apply(arguments, "forward-reads", "true", "SageMaker");
  app::apply(arguments, "sharded", "train", "SageMaker");
  app::take_saved_settings(arguments, saved, 10);
  CHECK_FALSE(arguments.job.forward_reads);
  CHECK(arguments.job.sharded == "train");  // what the hosts have is no choice
  arguments = parsed({"--resume", "--forward-reads"});
  app::take_saved_settings(arguments, saved, 10);
  CHECK(arguments.job.forward_reads);
}

TEST_CASE("what was held out stays so, unless the user names validation images") {
  const Settings saved = {{"val_split", "0.1"}};
  Arguments arguments = parsed({"--resume"});
  app::take_saved_settings(arguments, saved, 10);
  CHECK(arguments.job.val_split == 0.1);
  arguments = parsed({"--resume", "--val", "elsewhere"});
  app::take_saved_settings(arguments, saved, 10);
  CHECK(arguments.job.val_split == 0);
}

TEST_CASE("more classes than the data has were asked for and are asked for again") {
  Arguments arguments = parsed({"--resume"});
  app::take_saved_settings(arguments, kSaved, 8);
  CHECK(arguments.job.classes == 10);
}

TEST_CASE("evaluation takes over the model and the images' sizes only") {
  Arguments arguments = parsed({"--resume", "--eval-only"});
  app::take_saved_settings(arguments, kSaved, 10);
  CHECK(arguments.job.model.name == "resnet18");
  CHECK(arguments.job.val_size == 128);
  CHECK_FALSE(arguments.job.global_batch_size);
  CHECK(arguments.job.epochs == train::Job().epochs);
}

TEST_CASE("a saved value of another version is refused by its name") {
  Arguments arguments = parsed({"--resume"});
  CHECK_THROWS_WITH(app::take_saved_settings(arguments, {{"schedule", "zigzag"}}, 1),
                    Catch::Contains("--schedule is 'zigzag' (checkpoint)"));
}
