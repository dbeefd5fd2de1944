#include "app/options/settings/settings.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "tests/app/platform/fake_files.h"

using namespace shoal;
using app::Arguments;
using Catch::Contains;
using Words = std::vector<std::string>;

namespace {

const std::string kConfig = "/base/input/config/";

Arguments in_container(const Words& words, const std::string& hyperparameters = "{}",
                       dist::Variables environment = {}) {
  environment["SAGEMAKER_BASE_DIR"] = "/base";
  return app::gather(words, environment,
                     test::fake({"/base/input/data/train", "/base/input/data/validation"},
                                {{kConfig + "hyperparameters.json", hyperparameters}}));
}

Words words_of(std::vector<const char*> argv, bool platform) {
  return app::command_words(static_cast<int>(argv.size()), argv.data(), platform);
}

}  // namespace

TEST_CASE("all ways to call the container start train") {
  CHECK(words_of({"shoal", "train", "--lr", "1"}, false) == Words{"train", "--lr", "1"});
  CHECK(words_of({"/usr/local/bin/train"}, false) == Words{"train"});
  CHECK(words_of({"train", "--lr", "1"}, false) == Words{"train", "--lr", "1"});
  CHECK(words_of({"train", "train"}, false) == Words{"train"});
  CHECK(words_of({"train", "/data"}, false) == Words{"train", "/data"});
  CHECK(words_of({"shoal"}, true) == Words{"train"});
  CHECK(words_of({"shoal", "--lr", "1"}, true) == Words{"train", "--lr", "1"});
  CHECK(words_of({"shoal", "--help"}, true) == Words{"--help"});
  CHECK(words_of({"shoal", "eval"}, true) == Words{"eval"});
  CHECK(words_of({"shoal"}, false).empty());
}

TEST_CASE("in a container, SageMaker's folders are used and a run resumes automatically") {
  const Arguments arguments = in_container({"train"});
  const train::Job& job = arguments.job;
  CHECK(job.on_platform);
  CHECK(job.train_dir == "/base/input/data/train");
  CHECK(job.val_dir == "/base/input/data/validation");
  CHECK(job.output == "/base/output/data");
  CHECK(job.checkpoint_dir == "/base/checkpoints");
  CHECK(job.export_dir == "/base/model");
  CHECK(job.resume);
  CHECK(job.resume_path.empty());
  CHECK(arguments.origins.at("train") == "channel train");
}

TEST_CASE("evaluation without a validation channel can use held-out training images") {
  const auto gathered = [](const Words& words) {
    return app::gather(
        words, {{"SAGEMAKER_BASE_DIR", "/base"}},
        test::fake({"/base/input/data/train"}, {{kConfig + "hyperparameters.json", "{}"}}));
  };
  CHECK(gathered({"train", "--eval-only"}).job.train_dir == "/base/input/data/train");
  CHECK(gathered({"eval", "--checkpoint", "c", "--val-split", "0.1"}).job.train_dir ==
        "/base/input/data/train");
  CHECK_THROWS_WITH(gathered({"train"}), Contains("--val-split 0.1"));
}

TEST_CASE("arguments appended by the launcher do not count as the user's") {
  const Arguments arguments = app::gather({"train", "--lr", "1", "--threads=2"},
                                          {{app::kWordsVariable, "3"}}, test::fake({}, {}));
  CHECK(app::command_text(arguments) == "shoal train --lr 1");
  CHECK(arguments.job.threads == 2);
}

TEST_CASE("the user's options override SageMaker's settings") {
  const Arguments arguments = in_container(
      {"train", "--data", "/mine", "--output", "/o", "--checkpoint-dir", "/c", "--resume", "false"},
      R"({"export-dir": "/e", "lr": "0.2", "momentum": "0.8"})", {{"SM_HP_LR", "0.1"}});
  const train::Job& job = arguments.job;
  CHECK(job.data == "/mine");
  CHECK(job.train_dir.empty());
  CHECK(job.val_dir.empty());
  CHECK(job.output == "/o");
  CHECK(job.checkpoint_dir == "/c");
  CHECK(job.export_dir == "/e");
  CHECK_FALSE(job.resume);
  CHECK(job.schedule.lr == 0.2);
  CHECK(in_container({"train", "--lr", "0.7"}, R"({"lr": "0.2"})").job.schedule.lr == 0.7);
}

TEST_CASE("the error for a missing channel names it") {
  const dist::Variables environment = {{"SAGEMAKER_BASE_DIR", "/base"}};
  const auto only = [&](const char* channel, const Words& words = {"train"}) {
    return app::gather(words, environment,
                       test::fake({kConfig + "x", std::string("/base/input/data/") + channel}, {}));
  };
  CHECK_THROWS_AS(only("train"), UserError);
  CHECK_THROWS_WITH(only("train"), Contains("validation images") && Contains("channels: train") &&
                                       Contains("--val DIR"));
  CHECK_THROWS_WITH(only("validation"), Contains("training images"));
  const Arguments split = only("train", {"train", "--val-split", "0.1"});
  CHECK((split.job.val_dir.empty() && split.job.val_split == 0.1));
}

TEST_CASE("the error for a hyperparameter of the wrong type names its file") {
  CHECK_THROWS_WITH(
      in_container({"train"}, R"({"lr": "\"fast\""})"),
      Contains("--lr is 'fast'") && Contains("hyperparameters.json") && Contains("number"));
}

TEST_CASE("unknown hyperparameters are reported once, or are an error on request") {
  const std::string json = R"({"epoch": "3", "sagemaker_program": "x"})";
  const Arguments arguments = in_container({"train"}, json);
  REQUIRE(arguments.notes.size() == 1);
  CHECK_THAT(arguments.notes[0], Contains("epoch (did you mean epochs?)"));
  CHECK_THROWS_WITH(in_container({"train", "--strict-hyperparameters"}, json),
                    Contains("epoch") && !Contains("sagemaker"));
  CHECK_NOTHROW(in_container({"train", "--strict-hyperparameters"},
                             R"({"sagemaker_program": "x", "lr": "1"})"));
  // On the command line, an unknown name is always an error.
  CHECK_THROWS_WITH(in_container({"train", "--epoch", "3"}), Contains("unknown option --epoch"));
}

TEST_CASE("--strict-hyperparameters without hyperparameters is reported") {
  const Words words = {"train", "--strict-hyperparameters"};
  const Arguments alone = app::gather(words, {}, test::fake({}, {}));
  REQUIRE(alone.ineffective.size() == 1);
  CHECK_THAT(alone.ineffective[0],
             Contains("--strict-hyperparameters") && Contains("no hyperparameters"));
  CHECK(app::gather(words, {{"SM_HP_LR", "0.1"}}, test::fake({}, {})).ineffective.empty());
  CHECK(in_container(words).ineffective.empty());
  CHECK(app::gather({"train"}, {}, test::fake({}, {})).ineffective.empty());
}

TEST_CASE("hyperparameters apply only to train") {
  CHECK_NOTHROW(in_container({"eval", "--checkpoint", "x"}, "{broken"));
  CHECK_THROWS_AS(in_container({"train"}, "{broken"), UserError);
}

TEST_CASE("--weights pretrained selects the channel of this name, or published weights") {
  CHECK(in_container({"train", "--pretrained", "-a", "resnet50"}).job.weights ==
        "torchvision:resnet50/V1");
  CHECK(in_container({"train", "--pretrained", "-a", "efficientnet_lite1"}).job.weights ==
        "timm:tf_efficientnet_lite1.in1k");
  CHECK_THROWS_WITH(in_container({"train", "--pretrained", "-a", "resnet999"}),
                    Contains("torchvision:resnet999/V1: unknown name"));
  CHECK_THROWS_WITH(
      app::gather({"eval", "--data", "x", "--weights", "pretrained"}, {}, test::fake({}, {})),
      Contains("channel named pretrained") && Contains("--model NAME"));
  const Arguments arguments =
      in_container({"train", "--pretrained"}, "{}", {{"SM_CHANNEL_PRETRAINED", "/weights"}});
  CHECK(arguments.job.weights == "/weights");
  CHECK(in_container({"train", "--weights", "a.pt"}).job.weights == "a.pt");
}

TEST_CASE("the merged settings show each value's source, in lines that fit a terminal") {
  const Arguments arguments =
      in_container({"train", "--lr", "0.5"}, R"({"momentum": "0.8", "recipe": "resnet50"})");
  const std::string text = app::requested_text(arguments);
  CHECK_THAT(text, Contains("from command line: lr=0.5"));
  CHECK_THAT(text, Contains("from hyperparameters.json: recipe=resnet50  momentum=0.8"));
  CHECK_THAT(text, Contains("from recipe resnet50: "));
  CHECK_THAT(text, Contains("from channel train: train=/base/input/data/train"));
  CHECK_THAT(text, !Contains("keep=3"));
  const std::string defaults = app::default_text(arguments);
  CHECK_THAT(defaults, Contains("by default: ") && Contains("keep=3") && !Contains("momentum"));
  for (const std::string& all : {text, defaults}) {
    std::istringstream lines(all);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  }
}

TEST_CASE("the command line is recorded in shell syntax, without secrets") {
  Arguments arguments;
  arguments.words = {"train", "--data",   "my images", "--lr",
                     "0.1",   "--recipe", "it's",      "https://me:secret@host/x"};
  CHECK_THAT(app::command_text(arguments), !Contains("secret"));
  CHECK_THAT(app::command_text(arguments),
             Contains("shoal train --data 'my images' --lr 0.1 --recipe 'it'\\''s'"));
}

TEST_CASE("the name of the weights implies --model, and another --model is an error") {
  const auto gathered = [](Words words) {
    return app::gather(words, {{"HOME", "/home/me"}}, test::fake({}, {}));
  };
  const Words train = {"train", "--data", "x", "--weights", "torchvision:resnet50"};
  CHECK(gathered(train).job.model.name == "resnet50");
  CHECK(gathered(train).origins.at("model") == "--weights torchvision:resnet50");
  CHECK(gathered(train).weights_cache == "/home/me/.cache/shoal/weights");
  CHECK(gathered({"eval", "--data", "x", "--weights", "timm:efficientnet_b0"}).weights_model ==
        "efficientnet_b0");
  CHECK(gathered({"predict", "x", "--weights", "/d/resnet18-f37072fd.pth"}).weights_model ==
        "resnet18");
  CHECK(gathered({"train", "--data", "x", "--weights", "x.pth"}).job.model.name ==
        train::Job().model.name);
  CHECK(gathered({"predict", "x", "--weights-cache", "/c", "--weights", "hf:a/b"}).weights_cache ==
        "/c");

  // The data folder alone selects a recipe whose model is ResNet-18.
  const Arguments example = gathered({"train", "photos", "--weights", "torchvision:resnet50"});
  CHECK(example.recipe == "imagenet_example");
  CHECK(example.job.model.name == "resnet50");
  CHECK_FALSE((example.job.size || example.job.val_size));  // the recipe's sizes are for ResNet-18
  CHECK(
      gathered({"train", "photos", "--size", "96", "--weights", "torchvision:resnet50"}).job.size ==
      96);
  CHECK(gathered({"train", "photos", "--eval-only", "--weights", "torchvision:efficientnet_b4"})
            .job.val_size == 380);

  Words same = train, other = train, recipe = train;
  same.insert(same.end(), {"--model", "resnet50"});
  other.insert(other.end(), {"--model", "resnet18"});
  recipe.insert(recipe.end(), {"--recipe", "efficientnet_b0"});
  CHECK(gathered(same).job.model.name == "resnet50");
  CHECK_THROWS_WITH(gathered(other), Contains("--model resnet18") &&
                                         Contains("torchvision:resnet50 are weights of resnet50"));
  CHECK_THROWS_WITH(gathered(recipe), Contains("recipe efficientnet_b0"));
  // `average` takes several sets of weights, so gather() implies no model.
  CHECK(gathered({"average", "a", "--weights", "torchvision:resnet18"}).weights_model.empty());
  CHECK_THROWS_WITH(gathered({"train", "--data", "x", "--weights", "torchvision:resnet5"}),
                    Contains("did you mean"));
}

TEST_CASE("weights known by name are evaluated with the preprocessing of their accuracy") {
  const auto gathered = [](const Words& words) {
    return app::gather(words, {{"HOME", "/home/me"}}, test::fake({}, {})).job;
  };
  const train::Job v2 = gathered({"eval", "--data", "x", "--weights", "torchvision:resnet50"});
  CHECK(v2.val_size == 224);
  CHECK(v2.val_resize == 232);
  CHECK(v2.interpolation == data::Interpolation::bilinear);
  CHECK_FALSE(v2.mean);
  const train::Job lite = gathered({"predict", "x", "--weights", "timm:tf_efficientnet_lite1"});
  CHECK(lite.val_size == 240);
  CHECK(lite.val_resize == 272);
  CHECK(lite.interpolation == data::Interpolation::bicubic);
  CHECK(lite.mean == ChannelValues{0.5, 0.5, 0.5});
  CHECK(lite.std == ChannelValues{0.5, 0.5, 0.5});

  const train::Job given = gathered({"predict", "x", "--weights", "timm:resnet18", "--val-size",
                                     "448", "--interpolation", "bilinear"});
  CHECK(given.val_size == 448);
  CHECK_FALSE(given.val_resize);
  CHECK(given.crop_pct == Approx(224.0 / 235));
  CHECK(given.interpolation == data::Interpolation::bilinear);
  const Words train = {"train", "--data", "x", "--weights", "torchvision:resnet50"};
  CHECK_FALSE(gathered(train).val_resize);
  Words evaluated = train;
  evaluated.push_back("--eval-only");
  CHECK(gathered(evaluated).val_resize == 232);
  const train::Job v1 =
      gathered({"eval", "--data", "x", "--weights", "pretrained", "--model", "efficientnet_b2"});
  CHECK(v1.val_size == 288);
  CHECK(v1.val_resize == 288);
}
