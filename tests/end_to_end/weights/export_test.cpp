// Tests `shoal export`: its formats, which weights it writes, and its refusals.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file/whole_file.h"
#include "data/image/image_reader.h"
#include "tests/support/program.h"
#include "tests/train/weights/onnx/onnx_evaluator.h"

using namespace shoal;
using Catch::Contains;
using Words = std::vector<std::string>;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

// A finished run with averaged weights and three classes.
struct Trained {
  test::TemporaryDirectory directory;
  const std::string data = path("data"), output = path("run");

  Trained() {
    test::make_images(data, 30, 6, 3, 48);
    // clang-format off
    const auto outcome = test::run_shoal({
        "train", "--data", data, "--output", output, "--model", "resnet18", "--size", "32",
        "--batch-size", "10", "--epochs", "1", "--lr", "0.02", "--ema", "0.5"});
    // clang-format on
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
  }
  std::string path(const std::string& name) const { return (directory.path() / name).string(); }
};

const Trained& trained() {
  static const Trained one;
  return one;
}

test::Outcome run(const Words& words, int exit_code = 0) {
  const auto outcome = test::run_shoal(words);
  INFO(outcome.err);
  CHECK(outcome.exit_code == exit_code);
  return outcome;
}

std::string refusal(Words words) {
  words.insert(words.begin(), "export");
  return run(words, 2).err;
}

// Returns the lines of predict for the validation images, with all logits.
std::vector<Json> predict(const Words& weights) {
  Words words = {"predict", "--json", "--logits", trained().data + "/val"};
  words.insert(words.end(), weights.begin(), weights.end());
  std::vector<Json> list;
  for (const std::string& line : test::lines_of(run(words).out)) list.push_back(Json::parse(line));
  REQUIRE(list.size() == 6);
  return list;
}

double logit_of(const Json& line, const std::string& name) {
  for (const Json& guess : line["top5"])
    if (guess["class"] == name) return guess["logit"];
  FAIL("no class " + name);
  return 0;
}

test::OnnxModel read_onnx(const std::string& file) {
  return test::parse_onnx(test::read_text(file));
}

// Decodes a file to 1×H×W×3.
test::OnnxValue decoded(const std::string& file) {
  const std::vector<char> text = read_whole_file(file);
  const std::vector<uint8_t> bytes(text.begin(), text.end());
  data::ImageReader reader;
  const data::Size size = reader.open(bytes);
  reader.start({0, 0, size.width, size.height}, 0);
  test::OnnxValue value{{1, size.height, size.width, 3}, {}, false};
  for (data::RowBlock rows = reader.next(); rows.count > 0; rows = reader.next())
    for (int64_t y = 0; y < rows.count; ++y)
      value.values.insert(value.values.end(), rows.data + y * rows.stride,
                          rows.data + y * rows.stride + 3 * size.width);
  return value;
}

}  // namespace

TEST_CASE("an exported ONNX model with preprocessing gives predict's logits") {
  const Trained& t = trained();
  const std::string file = t.path("whole.onnx");
  const auto outcome = run({"export", t.output, "-o", file, "--with-preprocessing"});
  CHECK_THAT(outcome.out, Contains(file + ": resnet18, 3 classes, averaged weights"));
  const test::OnnxModel model = read_onnx(file);
  CHECK(model.metadata.at("model") == "resnet18");
  CHECK(model.metadata.at("crop") == "32");
  CHECK(Json::parse(model.metadata.at("mean")) == Json({0.485, 0.456, 0.406}));
  CHECK(Json::parse(model.metadata.at("std")) == Json({0.229, 0.224, 0.225}));
  const Json names = Json::parse(model.metadata.at("class_names"));
  for (const Json& line : predict({"--checkpoint", t.output})) {
    const test::OnnxValue logits = test::evaluate(model, decoded(line["path"]));
    REQUIRE(logits.values.size() == 3);
    for (size_t i = 0; i < 3; ++i)
      CHECK(logits.values[i] == Approx(logit_of(line, names[i])).epsilon(0).margin(1e-4));
  }
}

TEST_CASE("exported safetensors and state dicts give predict's logits") {
  const Trained& t = trained();
  const auto expected = predict({"--checkpoint", t.output});
  run({"export", t.output, "--output", t.path("m.safetensors")});
  CHECK(predict({"--checkpoint", t.path("m.safetensors")}) == expected);
  const std::string log = run({"export", t.output, "-o", t.path("m.pth")}).err;
  CHECK_THAT(log, Contains("torchvision.models.resnet18(num_classes=3)") &&
                      Contains("crop to 32 px, bilinear, mean 0.485,0.456,0.406"));
  const std::string names = t.path("names.txt");
  std::ofstream text(names);
  const Json labels = Json::parse(test::read_text(t.output + "/classes.json"));
  for (const auto& [name, label] : labels.items())
    text << name << "\n";  // sorted by name, like the labels
  text.close();
  const Words state_dict = {"--weights", t.path("m.pth"), "--model", "resnet18", "--val-size",
                            "32",        "--classes",     names};
  CHECK(predict(state_dict) == expected);

  // The state dict m.pth becomes an ONNX model with the given classes.
  run({"export", t.path("m.pth"), "--model", "resnet18", "--classes", names, "-o", t.path("m.onnx"),
       "--dynamic-batch"});
  const test::OnnxModel model = read_onnx(t.path("m.onnx"));
  CHECK(Json::parse(model.metadata.at("class_names")).size() == 3);
  CHECK(model.input_dimensions == Words{"batch", "3", "224", "224"});
}

TEST_CASE("--no-ema exports the trained weights; --format is for files without a known ending") {
  const Trained& t = trained();
  const std::string file = t.path("plain.bin");
  run({"export", t.output, "--no-ema", "--format", "safetensors", "-o", file});
  const auto plain = predict({"--checkpoint", file});
  CHECK(plain == predict({"--weights", t.output, "--weights-entry", "model"}));
  CHECK(plain != predict({"--checkpoint", t.output}));
  CHECK_THAT(refusal({file, "--ema", "-o", t.path("x.onnx")}),
             Contains("--ema") && Contains(file) && Contains("no averaged weights"));
  CHECK_FALSE(fs::exists(t.path("x.onnx")));
  CHECK_THAT(refusal({t.output, "--format", "safetensors", "-o", t.path("x.onnx")}),
             Contains("x.onnx: the ending .onnx") && Contains("--format"));
  const std::string averaged = t.path("averaged.safetensors");
  run({"export", t.output, "-o", averaged});
  CHECK_THAT(refusal({averaged, "--no-ema", "-o", t.path("x.onnx")}),
             Contains("--no-ema") && Contains(averaged));
}

TEST_CASE("export without --output names the file after the network and format") {
  const Trained& t = trained();
  const fs::path folder = t.directory.path() / "here";
  fs::create_directories(folder);
  const auto outcome =
      test::run_program("sh", {"-c", "cd " + folder.string() + " && " + test::shoal_program() +
                                         " export " + t.output + " && " + test::shoal_program() +
                                         " export --format torchvision " + t.output});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(fs::exists(folder / "resnet18.onnx"));
  CHECK(fs::exists(folder / "resnet18.pth"));
}

TEST_CASE("export replaces neither the file that it reads nor a checkpoint of a run") {
  const Trained& t = trained();
  std::string checkpoint;
  for (const auto& file : fs::directory_iterator(t.output + "/checkpoints"))
    if (file.path().extension() == ".pt") checkpoint = file.path();
  const std::string other = t.path("other.safetensors"), link = t.path("link.safetensors");
  run({"export", t.output, "-o", other});
  fs::create_symlink(other, link);
  const std::string before = test::read_text(checkpoint), exported = test::read_text(other);
  for (const std::string& input : {checkpoint, t.output, other})
    CHECK_THAT(refusal({input, "-o", checkpoint}),
               Contains("--output " + checkpoint + " is a checkpoint of a run"));
  for (const std::string& output : {other, link})
    CHECK_THAT(refusal({other, "-o", output}), Contains("--output " + output + " is the input"));
  CHECK(test::read_text(checkpoint) == before);
  CHECK(test::read_text(other) == exported);
}

TEST_CASE("export names bad input and keeps the file that it would replace") {
  const Trained& t = trained();
  const std::string file = t.path("kept.onnx"), bad = t.path("bad.pt");
  std::ofstream(file) << "before";
  std::ofstream(bad) << "no weights";
  CHECK_THAT(refusal({t.path("none"), "-o", file}), Contains(t.path("none")));
  CHECK_THAT(refusal({bad, "-o", file}), Contains(bad));
  CHECK_THAT(refusal({"-o", file}), Contains("one set of WEIGHTS"));
  CHECK_THAT(refusal({t.output, t.output, "-o", file}), Contains("one set of WEIGHTS"));
  CHECK_THAT(refusal({t.output, "--format", "caffe", "-o", file}), Contains("--format"));
  CHECK_THAT(refusal({t.output, "--format", "safetensors", "--dynamic-batch"}),
             Contains("--dynamic-batch") && Contains("onnx"));
  CHECK_THAT(refusal({t.output, "--format", "safetensors", "-o", file}), Contains("ending .onnx"));
  CHECK_THAT(refusal({t.output, "-o", t.data}), Contains(t.data) && Contains("folder"));
  CHECK_THAT(refusal({t.output, "-o", t.path("m.tflite")}), Contains("ending .tflite"));
  CHECK_THAT(refusal({t.output, "-o", t.path("no/m.onnx")}), Contains("no folder"));
  CHECK(test::read_text(file) == "before");
  run({"export", t.output, "-o=" + file});
  CHECK(read_onnx(file).operators == 18);
}

TEST_CASE("export to torchvision's format refuses networks that torchvision does not have") {
  const Trained& t = trained();
  const auto trained_as = [&](const char* model, const char* channels) {
    const std::string output = t.path(std::string(model) + channels);
    run({"train", "--data", t.data, "--output", output, "--model", model, "--size", "32",
         "--batch-size", "10", "--epochs", "1", "--lr", "0.02", "--channels", channels});
    return output;
  };
  const std::string lite = trained_as("efficientnet_lite0", "3");
  const std::string file = t.path("lite.pth");
  CHECK_THAT(refusal({lite, "-o", file}), Contains("--output " + file) &&
                                              Contains("efficientnet_lite0") &&
                                              Contains(".safetensors") && Contains(".onnx"));
  CHECK_THAT(refusal({lite, "--format", "torchvision"}), Contains("--format torchvision"));
  CHECK_FALSE(fs::exists(file));
  run({"export", lite, "-o", t.path("lite.safetensors")});

  const std::string half = trained_as("mobilenet_v2_050", "1");
  CHECK_THAT(run({"export", half, "-o", t.path("half.pth")}).err,
             Contains("torchvision.models.mobilenet_v2(num_classes=3, width_mult=0.5)") &&
                 Contains("replace its first convolution") && Contains("1 input channel"));
}
