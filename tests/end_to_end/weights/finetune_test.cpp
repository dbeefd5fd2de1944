// Tests runs that start from weights and freeze layers.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/support/program.h"

using namespace shoal;
using Catch::Contains;
using Words = std::vector<std::string>;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A run with four classes, and the images of a task with two classes.
struct Pretrained {
  test::TemporaryDirectory directory;
  const std::string data = (directory.path() / "data").string(),
                    run = (directory.path() / "run").string();

  Pretrained() {
    test::make_images(data, 40, 10, 2, 40);
    test::make_images(directory.path() / "first", 40, 10, 4, 40);
    succeed({"train", "--data", (directory.path() / "first").string(), "--output", run,
             "--export-dir", run + "/model"});
  }

  // Runs the command with the settings that all runs of this test share.
  static void succeed(Words words) {
    for (const char* word :
         {"--model", "efficientnet_lite0", "--size", "32", "--batch-size", "10", "--epochs", "3",
          "--lr", "0.01", "--optimizer", "adamw", "--threads", "1"})
      words.emplace_back(word);
    const auto outcome = test::run_shoal(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    const bool resumes = std::ranges::find(words, "--resume") != words.end();
    const std::regex from_checkpoint("start +[^ ]*/checkpoints/epoch-");
    CHECK(std::regex_search(outcome.err, from_checkpoint) == resumes);
  }

  // Fine-tunes and returns the folder of the exported model.
  fs::path tune(const std::string& name, const Words& more) const {
    const std::string output = (directory.path() / name).string();
    // clang-format off
    Words words = {"train", "--data", data, "--weights", run + "/model", "--output", output,
                   "--export", "last", "--export-dir", output + "/model"};
    // clang-format on
    words.insert(words.end(), more.begin(), more.end());
    succeed(words);
    return output + "/model";
  }
};

// Returns the bytes of each tensor of a model.safetensors by name.
std::map<std::string, std::string> tensors_in(const fs::path& model) {
  const std::string bytes = test::read_text(model / "model.safetensors");
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const Json header = Json::parse(bytes.substr(sizeof length, length));
  std::map<std::string, std::string> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
    tensors[name] = bytes.substr(sizeof length + length + begin, end - begin);
  }
  return tensors;
}

// Returns the first two parts of the names of tensors that differ: "features.0", "classifier.1".
std::set<std::string> changed(const fs::path& a, const fs::path& b) {
  const auto before = tensors_in(a), after = tensors_in(b);
  REQUIRE(before.size() == after.size());
  std::set<std::string> names;
  for (const auto& [name, bytes] : before)
    if (after.at(name) != bytes) names.insert(name.substr(0, name.find('.', name.find('.') + 1)));
  return names;
}

}  // namespace

TEST_CASE("frozen layers keep their bits, weights and statistics, on one and on two processes") {
  const Pretrained pretrained;
  const fs::path before = pretrained.run + "/model";
  for (const char* processes : {"1", "2"}) {
    const std::string p = processes;
    INFO(p << " processes");
    const Words several = {
        "--nproc", p, "--global-batch-size", "10", "--batch-size", p == "1" ? "10" : "5"};
    const auto tune = [&](const std::string& name, Words words) {
      words.insert(words.end(), several.begin(), several.begin() + 2);
      if (p == "2") words.insert(words.end(), {"--sync-bn"});
      return pretrained.tune(name + p, words);
    };
    const fs::path head = tune("head", {"--freeze", "all-but-head"});
    CHECK(changed(before, head) == std::set<std::string>{"classifier.1"});
    const fs::path part = tune("part", {"--freeze", "features.6"});
    CHECK(changed(before, part) ==
          std::set<std::string>{"classifier.1", "features.7", "features.8"});
    const fs::path all = tune("all", {"--freeze", "all-but-head", "--unfreeze-epoch", "2"});
    CHECK(changed(before, all).size() == 10);
  }
}

TEST_CASE("--freeze needs weights to start from, also with --resume if there is no checkpoint") {
  const Pretrained pretrained;
  for (const bool resume : {false, true}) {
    Words words = {"train",
                   "--data",
                   pretrained.data,
                   "--output",
                   pretrained.run + "-random",
                   "--model",
                   "mobilenet_v3_small",
                   "--size",
                   "32",
                   "--freeze",
                   "all-but-head"};
    if (resume) words.push_back("--resume");
    const auto refused = test::run_shoal(words);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, Catch::Contains("add --weights PATH"));
  }
}

TEST_CASE("a run that unfreezes layers continues with the same bits before and after that") {
  const Pretrained pretrained;
  const Words words = {"--freeze",        "3", "--unfreeze-epoch", "1",  "--ema", "0.9",
                       "--head-lr-scale", "3", "--layer-decay",    "0.9"};
  const fs::path whole = pretrained.tune("whole", words);
  for (const char* stop : {"2", "4", "7"}) {  // 4 steps per epoch
    INFO("stopped after step " << stop);
    Words first = words;
    first.insert(first.end(), {"--max-steps", stop});
    const std::string name = "stopped" + std::string(stop);
    pretrained.tune(name, first);
    Words again = words;
    again.insert(again.end(), {"--resume", "--max-steps", "12"});
    CHECK(changed(whole, pretrained.tune(name, again)).empty());
  }
}

TEST_CASE("layers that a resumed run no longer freezes start with Adam's first step") {
  const Pretrained pretrained;
  const auto tuned = [&](const std::string& name, Words words) {
    words.insert(words.end(), {"--schedule", "constant", "--weight-decay", "0"});
    return pretrained.tune(name, words);
  };
  const Words frozen = {"--freeze", "all-but-head", "--max-steps", "4"};
  const auto resumed = [&](const std::string& name, const char* steps) {
    return tuned(name, {"--resume", "--freeze", "none", "--max-steps", steps});
  };
  const auto weights = [](const fs::path& model) {
    const std::string bytes = tensors_in(model).at("features.0.0.weight");
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  const auto before = weights(tuned("stopped", frozen));
  const auto after = weights(resumed("stopped", "5"));
  double change = 0;
  for (size_t i = 0; i < after.size(); ++i)
    change = std::max<double>(change, std::abs(after[i] - before[i]));
  CHECK(change == Approx(0.01).epsilon(0.05));  // Adam's first step is the learning rate
  tuned("whole", frozen);
  CHECK(changed(resumed("whole", "9"), resumed("stopped", "9")).empty());
}

TEST_CASE("with --freeze-bn, only the other layers change") {
  const Pretrained pretrained;
  const auto before = tensors_in(pretrained.run + "/model");
  const auto after = tensors_in(pretrained.tune("bn", {"--freeze-bn"}));
  int norms = 0;
  for (const auto& [name, bytes] : before) {
    if (!before.count(name.substr(0, name.rfind('.')) + ".running_mean")) {
      CHECK((after.at(name) != bytes));
      continue;
    }
    INFO(name);
    CHECK((after.at(name) == bytes));
    ++norms;
  }
  CHECK(norms == 5 * 49);
}

TEST_CASE("stages that do not exist are refused with the list of those that do") {
  const Pretrained pretrained;
  const auto outcome = test::run_shoal({"train", "--data", pretrained.data, "--weights",
                                        pretrained.run, "--model", "efficientnet_lite0", "--freeze",
                                        "layer3", "--output", pretrained.run + "x"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, Contains("--freeze is 'layer3'") && Contains("features.7"));
}
