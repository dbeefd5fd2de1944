// Tests runs on small and unbalanced data: --fraction, --per-class, --balance, --class-weights,
// --patience and --time-budget.

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/program.h"
#include "train/checkpoint/checkpoint_store.h"

using namespace shoal;
using Catch::Contains;
using test::check_refused;
using test::joined;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

// Three classes with 24, 8 and 4 training images.
struct Data {
  Data() {
    test::make_images(root() / "data", 72, 6, 3, 40);
    size_t kept = 24;
    for (const std::string& name : classes()) {
      std::vector<fs::path> files;
      for (const auto& file : fs::directory_iterator(root() / "data/train" / name))
        files.push_back(file.path());
      for (size_t i = kept; i < files.size(); ++i) fs::remove(files[i]);
      kept = kept == 24 ? 8 : 4;
    }
  }
  std::vector<std::string> classes() const {
    std::vector<std::string> names;
    for (const auto& folder : fs::directory_iterator(root() / "data/train"))
      names.push_back(folder.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  fs::path root() const { return directory.path(); }
  Words train(const std::string& name, const Words& more) const {
    // clang-format off
    return joined({"train", "--data", root() / "data", "--output", root() / name, "--threads", "1",
                   "--model", "mobilenet_v3_small", "--size", "32", "--global-batch-size", "6",
                   "--lr", "0.01"}, more);
    // clang-format on
  }
  Json summary(const std::string& name) const {
    return Json::parse(test::read_text(root() / name / "summary.json"));
  }
  train::CheckpointEntry last(const std::string& name) const {
    return train::CheckpointStore(root() / name / "checkpoints", 1).entries().at(0);
  }
  test::TemporaryDirectory directory;
};

test::Outcome succeeded(const Words& words) {
  test::Outcome run = test::run_shoal(words);
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  return run;
}

}  // namespace

TEST_CASE("a run on balanced, weighted, selected images is resumed within an epoch bit for bit") {
  const Data d;
  const Words settings = {
      "--epochs", "2",          "--balance", "--class-weights", "balanced",           "--mixup",
      "0.2",      "--fraction", "0.7",       "--nproc",         "--checkpoint-steps", "3"};
  for (const char* nproc : {"1", "3"}) {
    Words words = settings;
    words.insert(words.begin() + 10, nproc);
    const std::string whole = std::string("whole-") + nproc, stopped = std::string("part-") + nproc;
    const auto run = succeeded(d.train(whole, words));
    CHECK_THAT(run.err, Contains("--fraction 0.7: training on 26 of 36 images"));
    CHECK(d.summary(whole).at("settings").at("balance") == 1);
    CHECK(d.summary(whole).at("step") == 8);
    succeeded(d.train(stopped, joined(words, {"--max-steps", "2"})));
    succeeded(d.train(stopped, {"--resume", "--nproc", nproc}));
    CHECK(d.last(stopped).step == 8);
    CHECK(d.summary(stopped).at("train").at("loss") == d.summary(whole).at("train").at("loss"));
  }
  // Losses with 1 and 3 ranks are not compared: they differ by rounding, and batch norm depends on
  // the batch per rank.
  CHECK(d.summary("whole-1").at("settings") == d.summary("whole-3").at("settings"));
  check_refused(d.train("whole-1", {"--resume", "--epochs", "3", "--fraction", "0.5"}),
                "made with fraction 0.7, this run has 0.5");
  check_refused(d.train("whole-1", {"--resume", "--epochs", "3", "--per-class", "5"}),
                "made with fraction 0.7, this run has 1");
}

TEST_CASE("options for small data are refused with the name of what is wrong") {
  const Data d;
  check_refused(d.train("out", {"--fraction", "0.5", "--per-class", "3"}), "--fraction");
  check_refused(d.train("out", {"--fraction", "0"}), "--fraction");
  check_refused(d.train("out", {"--balance", "--order", "chunked"}), "--order chunked");
  check_refused(d.train("out", {"--time-budget", "soon"}), "--time-budget is 'soon'");
  check_refused(d.train("out", {"--train", "pipe:" + (d.root() / "pipe").string(), "--fraction",
                                "0.5", "--max-steps", "1"}),
                "--fraction 0.5");
  check_refused(d.train("out", {"--class-weights", d.root() / "missing"}), "missing");
  const std::string file = d.root() / "weights";
  std::ofstream(file) << d.classes()[0] << " 1\n" << d.classes()[1] << " 2\nwolf 3\n";
  check_refused(d.train("out", {"--class-weights", file}), "'wolf'");
}

TEST_CASE("other weights of the classes are reported when a run is resumed") {
  const Data d;
  const std::string file = d.root() / "weights.json";
  std::ofstream(file) << "[1, 2, 3]";
  succeeded(d.train("out", {"--class-weights", file, "--epochs", "1", "--nproc", "2"}));
  CHECK_THAT(succeeded(d.train("out", {"--resume", "--epochs", "2"})).err,
             !Contains("changed: class_weights_hash"));
  std::ofstream(file) << "[3, 2, 1]";
  const auto run = succeeded(d.train("out", {"--resume", "--epochs", "3"}));
  CHECK_THAT(run.err, Contains("changed: ") && Contains("class_weights_hash"));
}

TEST_CASE("--patience ends a run as complete, and --time-budget any run") {
  const Data d;
  const auto run = succeeded(d.train(
      "patient", {"--lr", "1e-30", "--weight-decay", "0", "--epochs", "50", "--patience", "1"}));
  CHECK_THAT(run.out, Contains("event=early_stop;"));
  CHECK(d.summary("patient").at("outcome") == "complete");
  CHECK(d.summary("patient").at("step") == 12);
  CHECK_THAT(succeeded(d.train("patient", {"--resume"})).err, Contains("raise --patience"));

  const Words budget = {"--time-budget", "0.01s", "--epochs", "1000000", "--nproc", "2"};
  succeeded(d.train("timed", budget));
  CHECK(d.summary("timed").at("outcome") == "complete");
  CHECK(d.summary("timed").at("valid").at("step") == d.summary("timed").at("step"));
  CHECK_THAT(succeeded(d.train("timed", {"--resume"})).err, Contains("raise --time-budget"));
}

TEST_CASE("a run with a single class warns that it learns nothing") {
  const Data d;
  const auto classes = d.classes();
  for (const char* split : {"train", "val"})
    for (size_t i = 1; i < classes.size(); ++i)
      fs::remove_all(d.root() / "data" / split / classes[i]);
  const auto run = succeeded(d.train("single", {"--epochs", "1"}));
  CHECK_THAT(run.err, Contains("warning") && Contains("single class") && Contains("1 class\n"));
  CHECK_THAT(run.err, !Contains("1 classes") && !Contains("(es)"));
}
