// Tests runs that hold out part of the training images for validation (--val-split).

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/program.h"

using namespace shoal;
using Catch::Contains;
using test::check_refused;
using test::joined;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

// 80 training images, and no validation images.
struct Data {
  Data() {
    test::make_images(root() / "data", 80, 4, 2, 40);
    fs::rename(root() / "data/val", root() / "val");
  }
  fs::path root() const { return directory.path(); }
  std::string data() const { return root() / "data"; }
  std::string output(const std::string& name) const { return root() / name; }
  Words train(const std::string& name, const Words& more) const {
    // clang-format off
    return joined({"train", "--data", data(), "--output", output(name), "--model",
                   "mobilenet_v3_small", "--size", "32", "--global-batch-size", "8", "--lr", "0.01",
                   "--epochs", "1"}, more);
    // clang-format on
  }
  Json summary(const std::string& name) const {
    return Json::parse(test::read_text(root() / name / "summary.json"));
  }
  test::TemporaryDirectory directory;
};

Json evaluated(const Words& words) {
  const auto eval = test::run_shoal(joined({"eval", "--json"}, words));
  INFO(eval.err);
  REQUIRE(eval.exit_code == 0);
  return Json::parse(eval.out);
}

}  // namespace

TEST_CASE(
    "the held-out images are the same with any number of processes, after --resume and in eval") {
  const Data d;
  const auto one = test::run_shoal(d.train("one", {"--val-split", "0.25"}));
  INFO(one.err);
  REQUIRE(one.exit_code == 0);
  const Json valid = d.summary("one").at("valid");
  const auto held_out = valid.at("images").get<int>();
  CHECK((held_out > 8 && held_out < 35));
  CHECK_THAT(one.err,
             Contains("--val-split 0.25: using " + std::to_string(held_out) + " of the 80"));

  const auto two = test::run_shoal(d.train("two", {"--val-split", "0.25", "--nproc", "2"}));
  INFO(two.err);
  REQUIRE(two.exit_code == 0);
  CHECK(d.summary("two").at("valid").at("images") == held_out);
  CHECK(d.summary("two").at("settings") == d.summary("one").at("settings"));

  // eval takes the split from the checkpoint, for --data, for --train and for a packed set.
  const Json again = evaluated({"--checkpoint", d.output("one"), "--data", d.data()});
  CHECK(again.at("images") == held_out);
  CHECK(again.at("loss").get<double>() == Approx(valid.at("loss").get<double>()).epsilon(1e-4));
  const Json ranks =
      evaluated({"--checkpoint", d.output("one"), "--data", d.data(), "--nproc", "2"});
  CHECK(ranks.at("loss").get<double>() ==
        Approx(again.at("loss").get<double>()));  // the same images
  const std::string packed = d.root() / "packed.pack";
  REQUIRE(test::run_shoal({"pack", d.data() + "/train", packed}).exit_code == 0);
  for (const std::string& source : {d.data() + "/train", packed})
    CHECK(evaluated({"--checkpoint", d.output("one"), "--train", source}).at("images") == held_out);
  CHECK(evaluated({"--checkpoint", d.output("one"), "--val", d.root() / "val"}).at("images") == 4);
  const auto more = test::run_shoal(
      {"eval", "--checkpoint", d.output("one"), "--data", d.data(), "--val-split", "0.5"});
  CHECK_THAT(more.err, Contains("--val-split is 0.5") && Contains("held out only 0.25"));

  const auto resumed = test::run_shoal(d.train("one", {"--resume", "--epochs", "2"}));
  INFO(resumed.err);
  REQUIRE(resumed.exit_code == 0);
  CHECK(d.summary("one").at("valid").at("images") == held_out);
  CHECK(d.summary("one").at("settings").at("val_split") == 0.25);
  const auto in_place = test::run_shoal(d.train("one", {"--resume", "--eval-only"}));
  INFO(in_place.err);
  CHECK(in_place.exit_code == 0);
  CHECK_THAT(in_place.err, Contains("validation"));
  check_refused(d.train("one", {"--resume", "--epochs", "3", "--val-split", "0.5"}),
                "made with val_split 0.25, this run has 0.5");
  check_refused(d.train("one", {"--resume", "--epochs", "3", "--val", d.root() / "val"}),
                "made with val_split 0.25, this run has 0");
}

TEST_CASE("data without train/ is refused with the options that would train on it") {
  const Data d;
  const Words rest = {"--output", d.output("out"), "--model", "mobilenet_v3_small", "--size",
                      "32",       "--batch-size",  "8",       "--max-steps",        "1"};
  const auto suggests = [&](const std::string& data, const std::string& train) {
    check_refused(joined({"train", "--data", data}, rest), "--train " + train + " --val-split 0.1");
    CHECK(test::run_shoal(joined({"train", "--train", train, "--val-split", "0.1"}, rest))
              .exit_code == 0);
    fs::remove_all(d.output("out"));
  };
  const std::string classes = d.output("classes"), only_val = d.output("only_val");
  fs::rename(d.data() + "/train", classes);
  suggests(classes, classes);
  fs::create_directories(only_val);
  fs::rename(classes, only_val + "/val");
  suggests(only_val, only_val + "/val");
}

TEST_CASE("--val-split is refused if validation images exist or none can be held out") {
  const Data d;
  const Words split = {"--val-split", "0.25"};
  check_refused(d.train("out", joined(split, {"--val", d.root() / "val"})), "--val-split");
  check_refused(d.train("out", {}), "--val-split 0.1");
  check_refused(d.train("out", {"--train", "pipe:" + d.output("pipe"), "--val-split", "0.25"}),
                "pipe");
  check_refused(d.train("out", {"--val-split", "1e-9"}), "--val-split");
  fs::rename(d.root() / "val", d.root() / "data/val");
  check_refused(d.train("out", split), d.data() + "/val");
  const auto named =
      test::run_shoal({"train", "--train", d.data() + "/train", "--val-split", "0.25", "--output",
                       d.output("named"), "--model", "mobilenet_v3_small", "--size", "32",
                       "--batch-size", "8", "--max-steps", "2"});
  INFO(named.err);
  CHECK(named.exit_code == 0);
  check_refused({"eval", "--checkpoint", d.output("named"), "--train", d.data() + "/train", "--val",
                 d.data() + "/val"},
                "--train");
}
