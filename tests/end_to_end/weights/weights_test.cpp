// Tests eval and predict with weights that another program wrote.

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/program.h"
#include "tests/train/weights/formats/hostile.h"

using namespace shoal;
using Catch::Contains;
using Words = std::vector<std::string>;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

// Writes a safetensors file.
void write_tensors(const fs::path& to, const Json& header, const std::string& content) {
  const std::string text = header.dump();
  const uint64_t size = text.size();
  std::ofstream out(to, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&size), sizeof size);
  out << text << content;
}

// Copies a model.safetensors in the form that another program may write: without metadata and
// without num_batches_tracked.
void write_as_foreign(const fs::path& from, const fs::path& to) {
  const std::string bytes = test::read_text(from);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  Json header = Json::parse(bytes.substr(sizeof length, length)), left;
  for (const auto& [name, entry] : header.items())
    if (name != "__metadata__" && !name.ends_with("num_batches_tracked")) left[name] = entry;
  write_tensors(to, left, bytes.substr(sizeof length + length));
}

// Copies a safetensors file of a ResNet. The classifier of the copy has `outputs` outputs, and its
// weights and biases are 0.
void write_with_outputs(const fs::path& from, const fs::path& to, int64_t outputs) {
  const std::string bytes = test::read_text(from);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  Json header = Json::parse(bytes.substr(sizeof length, length));
  std::string content;
  for (auto item = header.begin(); item != header.end(); ++item) {
    Json& entry = item.value();
    const auto range = entry.at("data_offsets").get<std::vector<size_t>>();
    std::string tensor = bytes.substr(sizeof length + length + range[0], range[1] - range[0]);
    if (item.key().starts_with("fc.")) {
      const auto old = entry["shape"][0].get<int64_t>();
      tensor.assign(tensor.size() / static_cast<size_t>(old) * static_cast<size_t>(outputs), 0);
      entry["shape"][0] = outputs;
    }
    entry["data_offsets"] = {content.size(), content.size() + tensor.size()};
    content += tensor;
  }
  write_tensors(to, header, content);
}

// A finished run with three classes, and its model in the form that another program may write.
struct Trained {
  test::TemporaryDirectory directory;
  const std::string data = (directory.path() / "data").string(),
                    run = (directory.path() / "run").string(),
                    foreign = (directory.path() / "foreign.safetensors").string();

  Trained() {
    test::make_images(data, 60, 12, 3, 48);
    // clang-format off
    const auto outcome = test::run_shoal({
        "train", "--data", data, "--output", run, "--export-dir", run + "/model", "--model",
        "resnet18", "--size", "32", "--batch-size", "10", "--epochs", "1", "--lr", "0.02"});
    // clang-format on
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    write_as_foreign(run + "/model/model.safetensors", foreign);
  }
};

Json evaluated(const Words& more) {
  Words words = {"eval", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const auto outcome = test::run_shoal(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return Json::parse(outcome.out);
}

std::string refusal(const Words& words) {
  const auto outcome = test::run_shoal(words);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err.find("shoal: error:") == outcome.err.rfind("shoal: error:"));
  for (const char* internals : {"INTERNAL ASSERT", "at()", "PyTorch.", "c10", "Unpickler"})
    CHECK_THAT(outcome.err, !Contains(internals));
  return outcome.err;
}

std::string golden(const std::string& name) {
  return SHOAL_SOURCE_DIR "/tests/golden/weights/" + name;
}

}  // namespace

TEST_CASE("eval and predict accept another program's weights") {
  const Trained trained;
  const std::string& data = trained.data;
  const Json own = evaluated({"--checkpoint", trained.run, "--data", data});
  for (const Words& weights :
       {Words{"--weights", trained.foreign, "--model", "resnet18", "--val-size", "32"},
        Words{"--weights", trained.foreign, "--val-size", "32"}, Words{"--weights", trained.run},
        Words{"--weights", trained.run, "--model", "resnet18"}}) {
    Words words = {"--data", data};
    words.insert(words.end(), weights.begin(), weights.end());
    const Json json = evaluated(words);
    CHECK(json["correct1"] == own["correct1"]);
    CHECK(json["loss"] == own["loss"]);
  }

  const fs::path names = trained.directory.path() / "names.txt";
  std::ofstream(names) << "ant\nbee\ncow\n";
  const auto best = [&](const Words& more) {
    Words words = {"predict",  "--json",     "--weights", trained.foreign, "--model",
                   "resnet18", "--val-size", "32",        data + "/val"};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = test::run_shoal(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    CHECK_THAT(outcome.err, Contains("weights of " + trained.foreign + " (11,178,051 parameters)"));
    return Json::parse(test::lines_of(outcome.out).front())["top5"][0]["class"].get<std::string>();
  };
  const std::string number = best({}), name = best({"--classes", names.string()});
  CHECK(name == (number == "0" ? "ant" : number == "1" ? "bee" : "cow"));
}

TEST_CASE("eval and predict advise once to name the classes of weights with 1000 outputs") {
  const Trained trained;
  const fs::path root = trained.directory.path();
  const std::string wide = root / "wide.safetensors", val = trained.data + "/val";
  write_with_outputs(trained.foreign, wide, 1000);
  const auto advice_in = [&](Words words, const Words& more = {}) {
    words.insert(words.end(), {"--val-size", "32"});
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = test::run_shoal(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    const std::string advice = "add --classes imagenet";
    const size_t first = outcome.err.find(advice);
    CHECK(outcome.err.find(advice, first + 1) == outcome.err.npos);
    return first != outcome.err.npos;
  };
  const Words predict = {"predict", "--weights", wide, val};
  CHECK(advice_in(predict));
  CHECK(advice_in(predict, {"--nproc", "2"}));
  CHECK_FALSE(advice_in(predict, {"--classes", "imagenet"}));
  CHECK_FALSE(advice_in({"predict", "--weights", trained.foreign, val}));

  CHECK_THAT(refusal({"eval", wide, "--val", val}),
             Contains("add --classes imagenet") && Contains("1000 outputs"));
  int number = 0;
  for (const auto& folder :
       std::vector<fs::directory_entry>(fs::directory_iterator(val), fs::directory_iterator()))
    fs::rename(folder.path(), fs::path(val) / std::to_string(number++));
  CHECK(advice_in({"eval", wide, wide, "--val", val}));
  CHECK_FALSE(advice_in({"eval", wide, "--val", val}, {"--classes", "imagenet"}));
}

TEST_CASE("weights that do not fit are refused with advice") {
  const Trained trained;
  const std::string &data = trained.data, &foreign = trained.foreign;
  CHECK_THAT(refusal({"eval", "none.pt", "--data", data}),
             Contains("error: none.pt: no such file") && !Contains("--weights"));
  CHECK_THAT(refusal({"export", "none.pt"}), Contains("error: none.pt: no such file"));
  CHECK_THAT(refusal({"eval", "--weights", "none.pt", "--data", data}),
             Contains("--weights none.pt: no such file"));
  CHECK_THAT(refusal({"eval", "--data", data}), Contains("--checkpoint") && Contains("--weights"));
  CHECK_THAT(refusal({"eval", "--weights", foreign, "--checkpoint", foreign, "--data", data}),
             Contains("remove one of them"));
  CHECK_THAT(refusal({"predict", "--weights", trained.run, "--model", "resnet34", data}),
             Contains("resnet34") && Contains("contains weights of resnet18"));
  CHECK_THAT(refusal({"predict", "--weights", foreign, "--model", "resnet34", data}),
             Contains(foreign) && Contains("not weights of --model resnet34") &&
                 Contains("look like resnet18"));
  CHECK_THAT(refusal({"predict", "--weights", foreign, "--model", "efficientnet-b0", data}),
             Contains(foreign) && Contains("look like resnet18"));
  CHECK_THAT(refusal({"eval", "--weights", golden("old.pth"), "--data", data}),
             Contains("old.pth") && Contains("no network that shoal knows"));
  const fs::path names = trained.directory.path() / "names.txt";
  std::ofstream(names) << "ant\nbee\n";
  CHECK_THAT(refusal({"predict", "--weights", foreign, "--model", "resnet18", "--classes",
                      names.string(), data}),
             Contains("3 outputs") && Contains("names.txt names 2"));
  test::make_images(trained.directory.path() / "two", 4, 4, 2, 40);
  CHECK_THAT(refusal({"eval", "--weights", foreign, "--model", "resnet18", "--data",
                      (trained.directory.path() / "two").string()}),
             Contains("3 outputs") && Contains("the data has 2"));
}

TEST_CASE("error messages about files of other programs do not show LibTorch's internals") {
  const test::TemporaryDirectory directory;
  const std::string data = (directory.path() / "data").string();
  test::make_images(data, 4, 4, 2, 40);
  for (const char* name : {"old.pth", "timm_ema.pth.tar", "legacy.pth"}) {
    INFO(name);
    const std::string file = golden(name);
    CHECK_THAT(refusal({"eval", "--checkpoint", file, "--data", data}),
               Contains(file) && Contains("only weights") && Contains("use --weights " + file) &&
                   !Contains("another program") && !Contains("--model"));
    CHECK_THAT(refusal({"train", "--resume", file, "--data", data}),
               Contains("only weights") && Contains("--weights " + file));
  }
  CHECK_THAT(refusal({"eval", "--checkpoint", golden("timm_ema.pth.tar"), "--data", data}),
             Contains("entry state_dict_ema, 19 parameters"));
  for (const char* option : {"--checkpoint", "--weights"})
    CHECK_THAT(refusal({"predict", option, golden("whole.pth"), data}),
               Contains("whole pickled model") && Contains("torch.save(model.state_dict(), "));
  CHECK_THAT(refusal({"train", "--weights", golden("timm_ema.pth.tar"), "--weights-entry", "ema",
                      "--data", data, "--output", (directory.path() / "run").string()}),
             Contains("no entry 'ema'") && Contains("state_dict, state_dict_ema"));

  const fs::path cut = directory.path() / "cut.pth";
  fs::copy_file(golden("old.pth"), cut);
  fs::resize_file(cut, 900);
  const auto damaged =
      test::run_shoal({"predict", "--weights", cut.string(), "--model", "resnet18", data});
  CHECK(damaged.exit_code == 1);
  CHECK_THAT(damaged.err, Contains("cut.pth is not a whole file of torch.save") && Contains("zip"));
}

TEST_CASE("a zip of images in place of weights is named as such") {
  const test::TemporaryDirectory directory;
  const std::string data = (directory.path() / "data").string(),
                    file = (directory.path() / "c.zip").string();
  test::make_images(data, 4, 4, 2, 40);
  const auto bytes = train::zip_of({{"c/train/cat/1.JPG", "image"}});
  test::write_text(file, {bytes.begin(), bytes.end()});
  CHECK_THAT(refusal({"eval", file, "--data", data}),
             Contains(file + " is an archive of images") && Contains("1.JPG"));
  for (const char* option : {"--checkpoint", "--weights"})
    CHECK_THAT(refusal({"eval", option, file, "--data", data}), Contains("archive of images"));
  CHECK_THAT(refusal({"inspect", file}), Contains("archive of images"));
}

TEST_CASE("every command refuses a hostile weights file quickly and names it") {
  using train::pickled;
  const test::TemporaryDirectory directory;
  const std::string data = (directory.path() / "data").string(),
                    run = (directory.path() / "run").string(),
                    file = (directory.path() / "hostile.pt").string();
  test::make_images(data, 4, 4, 2, 40);
  // A dict with 3,000 entries, each of which is the same dict of 3,000 entries: a search of this
  // 53 kB file would visit 9 million values.
  std::string inner = "}(";
  for (int i = 0; i < 3000; ++i) inner += pickled(i) + "N";
  std::string items = pickled("inner") + inner + "uq\1";
  for (int i = 0; i < 3000; ++i) items += pickled("k" + std::to_string(i)) + "h\1";
  const auto bytes = train::zip_of({{"a/data.pkl", train::pickled_dict(items)}});
  test::write_text(file, {bytes.begin(), bytes.end()});
  for (const Words& words :
       {Words{"eval", "--checkpoint", file, "--data", data},
        Words{"eval", "--weights", file, "--data", data},
        Words{"predict", "--checkpoint", file, data}, Words{"predict", "--weights", file, data},
        Words{"inspect", file},
        Words{"train", "--weights", file, "--model", "resnet18", "--data", data, "--output", run},
        Words{"train", "--resume", file, "--data", data, "--output", run}}) {
    INFO(words[0] << " " << words[1]);
    const auto outcome = test::run_shoal(words, {}, {}, /*limit_seconds=*/30);
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, Contains("shoal: error: ") && Contains(file));
    // Only --resume looks for entries of shoal's checkpoints first.
    CHECK_THAT(outcome.err, Contains(words[1] == "--resume" ? "no entry" : "more memory"));
    CHECK(test::count_of(outcome.err, "shoal: error") == 1);
  }
  CHECK_FALSE(fs::exists(run));
}

TEST_CASE("every command refuses weights beside a call that would run a program") {
  using train::pickled;
  const test::TemporaryDirectory directory;
  const std::string data = (directory.path() / "data").string(),
                    run = (directory.path() / "run").string(),
                    file = (directory.path() / "hostile.pth").string(),
                    marker = (directory.path() / "marker").string();
  test::make_images(data, 4, 4, 2, 40);
  const std::string good = pickled("state_dict") + "}(" + pickled("fc.weight") +
                           pickled(train::HandMadeTensor{0, {4}, {1}}) + "u";
  const std::string hostile =
      pickled("args") + "cposix\nsystem\n(" + pickled("touch " + marker) + "tR";
  const auto bytes = train::zip_of(
      {{"a/data.pkl", train::pickled_dict(good + hostile)}, {"a/data/0", std::string(16, '\1')}});
  test::write_text(file, {bytes.begin(), bytes.end()});
  for (const Words& words :
       {Words{"eval", "--weights", file, "--data", data}, Words{"predict", "--weights", file, data},
        Words{"predict", "--checkpoint", file, data}, Words{"inspect", file},
        Words{"train", "--weights", file, "--model", "resnet18", "--data", data, "--output", run},
        Words{"train", "--resume", file, "--data", data, "--output", run}}) {
    INFO(words[0] << " " << words[1]);
    CHECK_THAT(refusal(words), Contains(file) && Contains("posix.system") && Contains("'args'"));
  }
  CHECK_FALSE(fs::exists(marker));
  CHECK_FALSE(fs::exists(run));
}

TEST_CASE("weights with values that are not finite: a warning in eval, an error in train") {
  const Trained t;
  const std::string file = (t.directory.path() / "damaged.safetensors").string();
  std::string bytes = test::read_text(t.foreign);
  std::fill(bytes.end() - 400, bytes.end(), '\xff');
  test::write_text(file, bytes);
  const auto eval = test::run_shoal({"eval", "--weights", file, "--data", t.data});
  CHECK(eval.exit_code == 0);
  CHECK_THAT(eval.err, Contains("damaged.safetensors") && Contains("not finite"));
  const std::string run = (t.directory.path() / "next").string();
  CHECK_THAT(refusal({"train", "--weights", file, "--model", "resnet18", "--data", t.data,
                      "--output", run}),
             Contains(file) && Contains("not finite"));
}

TEST_CASE("train takes the network from the weights, unless --model or a recipe names it") {
  const Trained t;
  const auto path = [&](const std::string& name) { return (t.directory.path() / name).string(); };
  const auto words = [&](const std::string& output, const Words& more) {
    Words all = {"train",        "--output",   path(output), "--size", "32",
                 "--batch-size", "10",         "--epochs",   "1",      "--lr",
                 "0.02",         "--val-size", "32"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto network_of = [&](const std::string& output) {
    const auto outcome = test::run_shoal({"inspect", path(output), "--json"});
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    return Json::parse(outcome.out)["values"]["arch"].get<std::string>();
  };
  int number = 0;
  for (const Words& more :
       {Words{"--data", t.data, "--weights", t.run},
        Words{"--data", t.data, "--weights", t.run + "/model"},
        Words{"--data", t.data, "--weights", t.foreign, "--recipe", "finetune"}}) {
    const std::string output = "next" + std::to_string(number++);
    const auto outcome = test::run_shoal(words(output, more));
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    CHECK_THAT(outcome.err, Contains("model resnet18: the network of " + more[3]));
    CHECK(network_of(output) == "resnet18");
  }
  const auto evaluated =
      test::run_shoal(words("eval", {"--data", t.data, "--weights", t.foreign, "--eval-only"}));
  INFO(evaluated.err);
  CHECK(evaluated.exit_code == 0);

  // A positional data folder selects a recipe whose model is ResNet-18. The network of --weights
  // takes precedence, because the user did not name the recipe.
  const std::string small = path("small");
  REQUIRE(test::run_shoal(words("small", {"--data", t.data, "--model", "mobilenet_v3_small"}))
              .exit_code == 0);
  REQUIRE(test::run_shoal(words("positional", {t.data, "--weights", small})).exit_code == 0);
  CHECK(network_of("positional") == "mobilenet_v3_small");
  const Words resumed = {"--data", t.data, "--weights", small, "--resume", "--epochs", "2"};
  CHECK(test::run_shoal(words("next0", resumed)).exit_code == 0);
  CHECK(network_of("next0") == "resnet18");

  for (const Words& named : {Words{"--model", "resnet34"}, Words{"--recipe", "demo"}}) {
    Words more = {"--data", t.data, "--weights", t.foreign};
    more.insert(more.end(), named.begin(), named.end());
    CHECK_THAT(refusal(words("none", more)), Contains("look like resnet18"));
  }
  const Words unknown = {"--data", t.data, "--weights", golden("timm_ema.pth.tar")};
  CHECK_THAT(refusal(words("none", unknown)),
             Contains("timm_ema.pth.tar") && Contains("no network that shoal knows"));
}

TEST_CASE("every command warns once about a file that does not match the digest in its name") {
  const Trained t;
  const std::string file = (t.directory.path() / "net-1a2b3c4d.safetensors").string(),
                    onnx = (t.directory.path() / "net.onnx").string(),
                    run = (t.directory.path() / "next").string();
  fs::copy_file(t.foreign, file);
  for (const Words& words : {Words{"eval", file, t.foreign, "--data", t.data},
                             Words{"eval", "--weights", file, "--data", t.data, "--nproc", "2"},
                             Words{"predict", "--weights", file, t.data + "/val"},
                             Words{"export", file, "-o", onnx}, Words{"inspect", file},
                             Words{"train", "--weights", file, "--data", t.data, "--size", "32",
                                   "--batch-size", "10", "--epochs", "1", "--output", run}}) {
    INFO(words[0] << " " << words[1]);
    const auto outcome = test::run_shoal(words);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(test::count_of(outcome.err, "do not match the digest") == 1);
    CHECK_THAT(outcome.err, Contains(file) && Contains("1a2b3c4d") && Contains("saved anew"));
  }
}
