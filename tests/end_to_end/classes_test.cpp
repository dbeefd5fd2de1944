// Tests runs on datasets whose classes differ from those of the checkpoint, the weights, or the
// other split.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/program.h"

using namespace shoal;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// A small dataset, and copies of it whose class folders can be renamed.
struct Data {
  Data() { test::make_images(root() / "data", 40, 20, 3, 40); }

  fs::path root() const { return directory.path(); }
  // Returns the folder of a copy of the data.
  fs::path copy(const std::string& name) const {
    fs::copy(root() / "data", root() / name, fs::copy_options::recursive);
    return root() / name;
  }
  std::vector<std::string> train(const std::string& output, const fs::path& data,
                                 const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"train",
                                      "--data",
                                      data.string(),
                                      "--output",
                                      (root() / output).string(),
                                      "--model",
                                      "mobilenet_v3_small",
                                      "--size",
                                      "32",
                                      "--batch-size",
                                      "10",
                                      "--epochs",
                                      "1",
                                      "--lr",
                                      "0.01"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> classes() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(root() / "data/train"))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  test::TemporaryDirectory directory;
};

void rename_class(const fs::path& data, const std::string& from, const std::string& to) {
  for (const char* half : {"train", "val"}) fs::rename(data / half / from, data / half / to);
}

// Removes the metadata from a .safetensors file, as if another program had written it.
void remove_metadata(const fs::path& file) {
  const std::string bytes = test::read_text(file);
  uint64_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof size);
  auto header = nlohmann::ordered_json::parse(bytes.substr(sizeof size, size));
  header.erase("__metadata__");
  std::string text = header.dump();
  text.resize(size, ' ');  // keeps the tensors' offsets
  std::ofstream(file, std::ios::binary)
      << bytes.substr(0, sizeof size) << text << bytes.substr(sizeof size + size);
}

}  // namespace

TEST_CASE(
    "a renamed class is refused at --resume and in evaluation, and --weights resets the "
    "classifier") {
  const Data data;
  const auto run = test::run_shoal(data.train("run", data.root() / "data"));
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  const fs::path renamed = data.copy("renamed");
  rename_class(renamed, data.classes()[1], "zebra");
  const std::string weights = (data.root() / "run").string();

  const auto resumed = test::run_shoal(data.train("run", renamed, {"--resume", "--epochs", "2"}));
  CHECK(resumed.exit_code == 2);
  CHECK_THAT(resumed.err, Contains("'" + data.classes()[1] + "'") && Contains("'zebra'"));

  const auto fresh = test::run_shoal(data.train("fresh", renamed, {"--weights", weights}));
  CHECK(fresh.exit_code == 0);
  CHECK_THAT(fresh.err, Contains("new classifier"));
  const auto same =
      test::run_shoal(data.train("same", data.root() / "data", {"--weights", weights}));
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.err, !Contains("new classifier"));

  const auto evaluated =
      test::run_shoal(data.train("only", renamed, {"--weights", weights, "--eval-only"}));
  CHECK(evaluated.exit_code == 2);
  CHECK_THAT(evaluated.err, Contains("'zebra'"));
}

TEST_CASE("--eval-only refuses weights of another program for another number of classes") {
  const Data data;
  const fs::path exported = data.root() / "exported";
  const auto run =
      test::run_shoal(data.train("run", data.root() / "data", {"--export-dir", exported.string()}));
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  remove_metadata(exported / "model.safetensors");
  const fs::path fewer = data.copy("fewer");
  for (const char* half : {"train", "val"}) fs::remove_all(fewer / half / data.classes()[2]);

  const std::vector<std::string> weights = {"--weights", (exported / "model.safetensors").string(),
                                            "--eval-only"};
  CHECK(test::run_shoal(data.train("all", data.root() / "data", weights)).exit_code == 0);
  const auto evaluated = test::run_shoal(data.train("only", fewer, weights));
  CHECK(evaluated.exit_code == 2);
  CHECK_THAT(evaluated.err, Contains("--weights " + weights[1] + ": ") && Contains("3 classes") &&
                                Contains("no trained classifier"));
}

TEST_CASE("eval uses the model's labels when the images have only some of its classes") {
  const Data data;
  const fs::path part = data.copy("part");
  const std::string gone = data.classes()[0];  // the first, so that the other labels change
  fs::remove_all(part / "val" / gone);
  const auto run = test::run_shoal(data.train("run", part, {"--print-freq", "1"}));
  INFO(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.err, Contains("2 of the 3 classes of the training images"));

  // Evaluating each class alone must find as many correct predictions as evaluating all together.
  const auto evaluated = [&](const fs::path& images, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"eval",   "--checkpoint", (data.root() / "run").string(),
                                      "--json", "--val",        images.string()};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = test::run_shoal(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    return nlohmann::json::parse(outcome.out);
  };
  std::vector<fs::path> alone;
  for (const std::string& name : data.classes()) {
    alone.push_back(data.root() / ("only-" + name));
    fs::create_directories(alone.back());
    fs::copy(data.root() / "data/val" / name, alone.back() / name);
  }
  const auto all = evaluated(data.root() / "data/val");
  int64_t right = 0, images = 0;
  double loss = 0;
  for (const fs::path& folder : alone) {
    const auto one = evaluated(folder, {"--nproc", "2"});
    right += one.at("correct1").get<int64_t>();
    images += one.at("images").get<int64_t>();
    loss += one.at("loss").get<double>() * one.at("images").get<double>();
  }
  CHECK(images == all.at("images").get<int64_t>());
  CHECK(right == all.at("correct1").get<int64_t>());
  CHECK(loss / static_cast<double>(images) == Approx(all.at("loss").get<double>()));
}

TEST_CASE("training warns about classes that differ only in case and about unused outputs") {
  const Data data;
  const auto run = [&](const fs::path& images) {
    const auto outcome =
        test::run_shoal(data.train("run", images, {"--dry-run", "--classes", "7"}));
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    return outcome.err;
  };
  CHECK_THAT(run(data.root() / "data"),
             Contains("--classes 7: the images have only 3 classes") && !Contains("in case"));
  const fs::path renamed = data.copy("renamed");
  rename_class(renamed, data.classes()[0], "Fox");
  rename_class(renamed, data.classes()[1], "fox");
  CHECK_THAT(run(renamed),
             Contains("--data") && Contains("'Fox' and 'fox'") && Contains("differ only in case"));
}
