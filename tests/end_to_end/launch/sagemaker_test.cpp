// Tests the program as a SageMaker container runs it, with a temporary folder in place of /opt/ml.

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/launch/container.h"

using namespace shoal;
using test::Container;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

// Returns the five most probable classes of each validation image, as JSON.
Words predictions(const Container& container, const std::string& checkpoint) {
  const auto run = container.run({"predict", "--checkpoint", (container / checkpoint).string(),
                                  "--json", (container / "input/data/validation").string()});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  Words lines;
  for (const std::string& line : test::lines_of(run.out))
    lines.push_back(nlohmann::json::parse(line).at("top5").dump());
  return lines;
}

}  // namespace

TEST_CASE("`train` in a container reads the platform's files and exports the model") {
  Container container;
  container.fill(24, 6);
  container.write("hyperparameters",
                  R"({"model": "\"efficientnet-b0\"", "size": "32", "batch_size": "8",
      "epochs": "2", "lr": "0.02", "ema": "0.9", "sync_bn": "", "epoch": "7",
      "sagemaker_program": "\"train.py\"", "_tuning_objective_metric": "valid:acc1"})");
  fs::create_symlink(test::shoal_program(), container / "train");
  const auto run = [&] {
    return test::run_program((container / "train").string(), {"train"},
                             container.environment({"SM_HPS={\"lr\": 0.5, \"momentum\": 0.8}"}));
  };
  const auto first = run();
  INFO(first.err);
  REQUIRE(first.exit_code == 0);
  CHECK_FALSE(fs::exists(container / "output/failure"));
  for (const char* file :
       {"model/model.safetensors", "model/classes.json", "model/settings.json",
        "output/data/history.jsonl", "output/data/summary.json", "checkpoints/manifest.json"}) {
    INFO(file);
    CHECK(fs::exists(container / file));
  }
  CHECK_FALSE(fs::is_empty(container / "output/tensorboard"));
  CHECK(test::count_of(first.err, "epoch (did you mean epochs?)") == 1);
  CHECK(test::count_of(first.err, "_tuning_objective_metric, sagemaker_program") == 1);
  CHECK(test::count_of(first.err, "from hyperparameters.json: ") == 1);
  CHECK(first.err.find("from SM_HPS: momentum=0.8") != std::string::npos);
  const auto summary =
      nlohmann::json::parse(test::read_text(container / "output/data/summary.json"));
  CHECK(summary["settings"]["lr"] == 0.02);
  CHECK(summary["settings"]["momentum"] == 0.8);
  CHECK(summary["settings"]["sync_bn"] == true);

  // The exported model predicts the same as the averaged weights of the last checkpoint.
  const Words of_model = predictions(container, "model");
  CHECK(of_model == predictions(container, "checkpoints"));
  CHECK(of_model.size() == 6);

  // If the finished run is started again in the same way, it resumes and exports again.
  fs::remove_all(container / "model");
  const auto again = run();
  INFO(again.err);
  REQUIRE(again.exit_code == 0);
  CHECK(again.err.find("nothing left to train") != std::string::npos);
  CHECK(predictions(container, "model/model.safetensors") == of_model);
}

TEST_CASE(
    "a job with wrong files or options prints one line, writes a failure file and exits with 2") {
  struct Case {
    std::string config, text;
    Words words;
    std::string part;
  };
  const std::vector<Case> cases = {
      {"hyperparameters", "{\"lr\": ", {"train"}, "hyperparameters.json"},
      {"resourceconfig", "{broken", {"train"}, "resourceconfig.json"},
      {"resourceconfig", "{}", {"train"}, "resourceconfig.json"},
      {"inputdataconfig", "[]", {"train"}, "inputdataconfig.json"},
      {"checkpointconfig", "nonsense", {"train"}, "checkpointconfig.json"},
      {"hyperparameters", R"({"lr": "\"fast\""})", {"train"}, "--lr is 'fast'"},
      {"hyperparameters",
       R"({"lr": "1", "epoch": "2"})",
       {"train", "--strict-hyperparameters"},
       "epoch"},
      {"resourceconfig",
       R"({"current_host": "algo-3", "hosts": ["algo-1", "algo-2"]})",
       {"train"},
       "algo-3"},
      {"hyperparameters", "{}", {"train", "--device", "cuda"}, "--device cuda"},
      {"hyperparameters", "{}", {"train", "--learning-rat", "1"}, "--lr?"},
  };
  for (const Case& one : cases) {
    Container container;
    fs::create_directories(container / "input/data/train");
    fs::create_directories(container / "input/data/validation");
    container.write(one.config, one.text);
    // Hide all GPUs, so that --device cuda is an error on every machine.
    const auto outcome =
        test::run_shoal(one.words, container.environment({"CUDA_VISIBLE_DEVICES="}));
    INFO(one.config << " " << one.text << "\n" << outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(test::count_of(outcome.err, "shoal: error:") == 1);
    CHECK(test::count_of(outcome.err, "\n") == 1);
    CHECK(outcome.err.find(one.part) != std::string::npos);
    const std::string failure = container.failure();
    CHECK(failure.find(one.part) != std::string::npos);
    CHECK(failure.size() <= 1024);
  }
  Container empty;
  const auto outcome = empty.run({"train"});
  CHECK(outcome.exit_code == 2);
  CHECK(empty.failure().find("channel named train") != std::string::npos);
}

TEST_CASE(
    "the command line of PyTorch's imagenet example trains, even on fewer images than a batch") {
  const test::TemporaryDirectory directory;
  test::make_images(directory.path() / "data", 12, 4, 2, 40);
  // clang-format off
  const Words words = {
      "train", "--epochs", "1", "--resume", "checkpoint.pth.tar", "--workers", "2",
      (directory.path() / "data").string(), "--multiprocessing-distributed", "--dist-url", "env://",
      "--world-size", "1", "--rank", "0", "--seed", "123", "--gpu", "0",
      "--output", (directory.path() / "run").string()};
  // clang-format on
  const auto run = test::run_shoal(words);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(run.err.find("example to 12") != std::string::npos);
  CHECK(test::count_of(run.err, "--gpu has no effect") == 1);
  CHECK(run.err.find("resnet18") != std::string::npos);
  CHECK(run.out.find("Epoch: [0][1/1]") != std::string::npos);
}

TEST_CASE("SMDDP's hyperparameters are translated to ours") {
  Container container;
  container.fill(16, 4);
  container.write("hyperparameters", R"({"mode": "\"train\"", "arch": "\"efficientnet-b0\"",
      "use_amp": "\"\"", "use_xla": "\"\"", "max_epochs": "1", "train_batch_size": "8",
      "lr_init": "0.005", "batch_norm": "\"syncbn\"", "mixup_alpha": "0.2",
      "weight_decay": "5e-06", "train_img_size": "32"})");
  const auto run = container.run({"train"});
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const auto settings =
      nlohmann::json::parse(test::read_text(container / "output/data/summary.json"))["settings"];
  CHECK(settings["model"] == "efficientnet_b0");
  CHECK(settings["lr"] == 0.0003125);  // 0.005 × 8 / 128
  CHECK(settings["amp"] == "bf16");
  CHECK(settings["optimizer"] == "rmsprop");
  CHECK(settings["eps"] == 0.001);
  CHECK(settings["sync_bn"] == true);
  CHECK(settings["mixup"] == 0.2);
  CHECK(settings["weight_decay"] == 5e-06);
  CHECK(test::count_of(run.err, "--use-xla has no effect") == 1);
}

TEST_CASE("a run can start from the weights of another run") {
  Container container;
  container.fill(16, 4);
  const Words settings = {"train",    "--model", "mobilenet_v3_small",
                          "--size",   "32",      "--batch-size",
                          "8",        "--lr",    "0.01",
                          "--epochs", "1",       "--seed",
                          "3"};
  REQUIRE(container.run(settings).exit_code == 0);
  fs::create_directories(container / "input/data");
  fs::rename(container / "model", container / "input/data/pretrained");
  fs::remove_all(container / "checkpoints");
  Words words = settings;
  words.insert(words.end(), {"--pretrained", "--evaluate"});
  const auto evaluated = container.run(words);
  INFO(evaluated.err);
  REQUIRE(evaluated.exit_code == 0);
  CHECK(evaluated.err.find("weights of " + (container / "input/data/pretrained").string()) !=
        std::string::npos);
  const auto trained =
      nlohmann::json::parse(test::read_text(container / "output/data/summary.json"));
  char line[64];
  std::snprintf(line, sizeof line, " * Acc@1 %.3f", trained["valid"]["acc1"].get<double>());
  CHECK(evaluated.out.find(line) != std::string::npos);
  const auto loss = std::to_string(trained["valid"]["loss"].get<double>());
  CHECK(evaluated.out.find("valid:loss=" + loss) != std::string::npos);

  words = settings;
  words.insert(words.end(), {"--pretrained", "--model", "resnet18"});
  const auto refused = container.run(words);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err,
             Catch::Contains("--weights") && Catch::Contains("--model mobilenet_v3_small"));
}
