// Tests shoal inspect and average, weights whose tensors are named as in other programs,
// --load-partial, and resuming a checkpoint of PyTorch's imagenet example.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/gunzip.h"
#include "tests/support/program.h"
#include "tests/train/weights/golden_names.h"

using namespace shoal;
using Catch::Contains;
using Words = std::vector<std::string>;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

std::string golden(const std::string& name) {
  return SHOAL_SOURCE_DIR "/tests/golden/weights/" + name;
}

test::Outcome succeeds(const Words& words) {
  auto outcome = test::run_shoal(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  return outcome;
}

std::string refusal(const Words& words) {
  const auto outcome = test::run_shoal(words);
  INFO(outcome.err);
  CHECK(outcome.exit_code == 2);
  return outcome.err;
}

// A safetensors file: its header, and the bytes of its tensors.
struct Tensors {
  Json header;
  std::string bytes;

  explicit Tensors(const fs::path& file) {
    const std::string text = test::read_text(file);
    uint64_t length = 0;
    std::memcpy(&length, text.data(), sizeof length);
    header = Json::parse(text.substr(sizeof length, length));
    bytes = text.substr(sizeof length + length);
  }
  void write(const fs::path& file) const {
    const std::string text = header.dump();
    const uint64_t size = text.size();
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&size), sizeof size);
    out << text << bytes;
  }
  std::vector<float> values(const std::string& name) const {
    const auto range = header.at(name).at("data_offsets").get<std::vector<size_t>>();
    std::vector<float> values((range[1] - range[0]) / sizeof(float));
    std::memcpy(values.data(), bytes.data() + range[0], range[1] - range[0]);
    return values;
  }
};

// A run with three classes and checkpoints after each of two epochs.
class Trained {
 public:
  explicit Trained(const std::string& model) {
    test::make_images(data, 60, 12, 3, 48);
    succeeds({"train", "--data", data, "--output", run, "--export-dir", run + "/model", "--export",
              "last", "--model", model, "--size", "32", "--batch-size", "20", "--epochs", "2",
              "--lr", "0.02"});
  }
  std::string path(const std::string& name) const { return (directory_.path() / name).string(); }
  std::string checkpoint(int epoch) const {
    for (const auto& file : fs::directory_iterator(run + "/checkpoints"))
      if (file.path().extension() == ".pt" &&
          file.path().filename().string().starts_with("epoch-000" + std::to_string(epoch)))
        return file.path().string();
    FAIL("no checkpoint");
    return "";
  }

 private:
  test::TemporaryDirectory directory_;

 public:
  const std::string data = path("data"), run = path("run");
};

}  // namespace

TEST_CASE("inspect describes runs, checkpoints, exports and files of Python") {
  const Trained trained("resnet18");
  const Json run = Json::parse(succeeds({"inspect", trained.run, "--json", "--tensors"}).out);
  CHECK(run["file"] == trained.checkpoint(2));
  CHECK(run["checksum"] == "correct");
  CHECK(run["checkpoints"].size() == 2);
  CHECK(run["model"]["name"] == "resnet18");
  CHECK(run["model"]["names"] == "torchvision");
  CHECK(run["model"]["classes"] == 3);
  CHECK(run["model"]["misfits"].empty());
  CHECK(run["classes"].size() == 3);
  CHECK(run["used"] == "model");
  CHECK(run["values"]["step"] == "6");
  CHECK(run["settings"]["lr"] == "0.02");
  CHECK(run["entries"][0]["tensors"] == 122);
  CHECK(run["entries"][0]["parameters"] == 11178051);
  CHECK(run["tensors"].size() == 122 + 62);
  CHECK(run["tensors"][0]["dtype"] == "float32");

  const std::string text = succeeds({"inspect", trained.run + "/model"}).out;
  CHECK_THAT(text, Contains("exported model of shoal") &&
                       Contains("resnet18, torchvision's names") &&
                       Contains("11,178,051 parameters") && Contains("3 classes"));
  CHECK(test::lines_of(text).size() < 24);
  const std::string python = succeeds({"inspect", golden("timm_ema.pth.tar")}).out;
  CHECK_THAT(python, Contains("torch.save, zip") && Contains("state_dict_ema") &&
                         Contains("none that shoal knows"));

  const std::string onnx = trained.path("model.onnx");
  succeeds({"export", trained.run, "--dynamic-batch", "-o", onnx});
  const std::string model = succeeds({"inspect", onnx}).out;
  CHECK_THAT(model, Contains("opset 18") && Contains("shoal") && Contains("resnet18") &&
                        Contains("images: float32 batch×3×32×32") &&
                        Contains("logits: float32 batch×3") && Contains("mean=[0.485") &&
                        Contains("3 names: ") && Contains("102 initializers"));
  CHECK(test::lines_of(model).size() < 16);
  const Json as_json = Json::parse(succeeds({"inspect", onnx, "--json", "--tensors"}).out);
  CHECK(as_json["parameters"] == 11178051 + 9600);  // plus batch-norm statistics
  CHECK(as_json["classes"].size() == 3);
  CHECK(as_json["tensors"].size() == 102);
  const std::string no_onnx = trained.path("text.onnx");
  std::ofstream(no_onnx) << "no model";
  const auto refused = test::run_shoal({"inspect", no_onnx});
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.err, Contains("text.onnx") && Contains("not an ONNX model"));

  CHECK_THAT(refusal({"inspect", golden("values2.pkl")}), Contains("values2.pkl"));
  CHECK_THAT(refusal({"inspect", golden("whole.pth")}), Contains("whole pickled model"));
  CHECK_THAT(refusal({"inspect", trained.path("none")}), Contains("no such file"));
  CHECK_THAT(refusal({"inspect"}), Contains("one set of WEIGHTS"));
  CHECK_THAT(refusal({"inspect", trained.run, "--weights", trained.run}),
             Contains("one set of WEIGHTS"));
  CHECK(Json::parse(succeeds({"inspect", "--weights", trained.run, "--json", "--tensors"}).out) ==
        run);

  const std::string damaged = trained.checkpoint(2);
  std::fstream(damaged, std::ios::in | std::ios::out | std::ios::binary).seekp(5000).put('\x5a');
  const auto wrong = test::run_shoal({"inspect", damaged});
  CHECK(wrong.exit_code == 1);
  CHECK_THAT(wrong.out, Contains("checksum  wrong"));
  const auto older = test::run_shoal({"inspect", trained.run});
  CHECK(older.exit_code == 1);
  CHECK_THAT(older.out, Contains(trained.checkpoint(1)) && Contains("checksum  correct"));
  CHECK_THAT(older.err, Contains(fs::path(damaged).filename().string()));
}

TEST_CASE("average writes the mean, and with --data leaves out what would lower the accuracy") {
  const Trained trained("efficientnet_b0");
  const std::string first = trained.checkpoint(1), second = trained.checkpoint(2),
                    soup = trained.path("soup.safetensors");
  succeeds({"average", first, second, "--output", soup});
  const std::string same = trained.path("same.safetensors");
  succeeds({"average", "--weights", first, second, "-o", same, "--threads", "1"});
  CHECK((Tensors(same).bytes == Tensors(soup).bytes));
  // Exports each checkpoint: the average of a checkpoint with itself is that checkpoint.
  const std::string one = trained.path("one.safetensors"), two = trained.path("two.safetensors");
  succeeds({"average", first, first, "--output", one});
  succeeds({"average", second, second, "--output", two});
  CHECK((Tensors(two).bytes == Tensors(trained.run + "/model/model.safetensors").bytes));
  const Tensors mean(soup), a(one), b(two);
  for (const char* name :
       {"features.0.0.weight", "features.8.1.running_var", "classifier.1.bias"}) {
    const auto means = mean.values(name), as = a.values(name), bs = b.values(name);
    REQUIRE(means.size() == as.size());
    bool same = true;
    for (size_t i = 0; i < means.size(); ++i)
      same &= means[i] == static_cast<float>((double{as[i]} + double{bs[i]}) / 2);
    CHECK(same);
    CHECK(as != bs);
  }
  for (const auto& words : {Words{"predict", "--weights", soup, trained.data + "/val"},
                            Words{"eval", "--checkpoint", soup, "--data", trained.data}})
    CHECK_THAT(succeeds(words).err, Contains("average of 2 checkpoints") && !Contains("epoch 0"));
  CHECK_THAT(succeeds({"inspect", soup}).out,
             Contains("average_of=2") && !Contains("epoch=0") && !Contains("step=0"));
  const std::string onnx = trained.path("soup.onnx");
  succeeds({"export", soup, "-o", onnx});
  CHECK_THAT(succeeds({"inspect", onnx}).out, Contains("average_of=2") && !Contains("epoch="));

  succeeds({"average", one, two, "--no-ema", "--output", trained.path("plain.safetensors")});
  CHECK_THAT(succeeds({"eval", first, "--weights-entry", "model", "--data", trained.data}).err,
             !Contains("error"));

  const auto accuracy = [&](const std::string& weights) {
    return Json::parse(succeeds({"eval", "--weights", weights, "--data", trained.data, "--json"})
                           .out)["acc1"]
        .get<double>();
  };
  const std::string greedy = trained.path("greedy.safetensors");
  const Json json = Json::parse(
      succeeds({"average", first, second, "--data", trained.data, "--output", greedy, "--json"})
          .out);
  const double best = std::max(accuracy(first), accuracy(second));
  CHECK(json["acc1"].get<double>() ==
        std::max(best, json["averaged"] == 2 ? accuracy(soup) : best));
  CHECK(accuracy(greedy) == json["acc1"].get<double>());
  CHECK((json["averaged"] == 2) == (accuracy(soup) >= best));
  CHECK(json["checkpoints"][0]["acc1"].get<double>() == best);
}

TEST_CASE("average refuses checkpoints that differ, and names the difference") {
  const Trained trained("resnet18");
  const std::string checkpoint = trained.checkpoint(1), soup = trained.path("soup.safetensors");
  CHECK_THAT(refusal({"average", checkpoint, golden("timm_ema.pth.tar")}), Contains("--output"));
  CHECK_THAT(refusal({"average", checkpoint, "--output", soup}), Contains("two"));
  CHECK_THAT(refusal({"average", "--weights", checkpoint, "-o", soup}), Contains("two"));
  CHECK_THAT(refusal({"average", "--weights", checkpoint, "--weights", checkpoint, "-o", soup}),
             Contains("--weights is given twice"));
  CHECK_THAT(refusal({"average", "--weights", checkpoint, "none.pt", "-o", soup}),
             Contains("error: none.pt: no such file"));
  CHECK_THAT(refusal({"average", checkpoint, checkpoint, "--output", trained.path("soup.pt")}),
             Contains(".safetensors"));
  CHECK_THAT(refusal({"average", checkpoint, checkpoint, "--output",
                      trained.run + "/model/model.safetensors"}),
             Contains("exists"));
  Tensors other(trained.run + "/model/model.safetensors");
  const std::string renamed = trained.path("renamed.safetensors");
  auto names = Json::parse(other.header["__metadata__"]["class_names"].get<std::string>());
  names[1] = "zebra";
  other.header["__metadata__"]["class_names"] = names.dump();
  other.write(renamed);
  CHECK_THAT(refusal({"average", checkpoint, renamed, "--output", soup}),
             Contains("zebra") && Contains("class 1"));
}

TEST_CASE("weights in timm's names predict as those in torchvision's, and are recognized") {
  const Trained trained("efficientnet_b0");
  Tensors file(trained.run + "/model/model.safetensors");
  const auto names = train::golden_names("timm").names;
  Json renamed;
  for (const auto& [name, entry] : file.header.items())
    if (name != "__metadata__") renamed["module.model." + names.at(name)] = entry;
  file.header = renamed;
  const std::string timm = trained.path("timm.safetensors");
  file.write(timm);
  const auto predictions = [&](const Words& weights) {
    Words words = {"predict", "--json", "--logits", "--val-size", "32", trained.data + "/val"};
    words.insert(words.end(), weights.begin(), weights.end());
    return succeeds(words);
  };
  const fs::path classes = trained.path("names.txt");
  std::ofstream out(classes);
  const Json described = Json::parse(succeeds({"inspect", trained.run, "--json"}).out);
  for (const auto& name : described["classes"]) out << name.get<std::string>() << "\n";
  out.close();
  const auto own = predictions({"--checkpoint", trained.run + "/model"});
  const auto other = predictions({"--weights", timm, "--classes", classes.string()});
  CHECK(other.out == own.out);
  CHECK_THAT(other.err, Contains("efficientnet_b0 in timm's names"));
  CHECK_THAT(refusal({"predict", "--weights", timm, "--model", "efficientnet-b2", trained.data}),
             Contains(timm) && Contains("look like efficientnet_b0"));

  const Words base = {
      "train",   "--data",   trained.data,         "--weights", timm,   "--size", "32",
      "--model", "resnet18", "--epochs",           "1",         "--lr", "0.02",   "--batch-size",
      "20",      "--output", trained.path("other")};
  CHECK_THAT(refusal(base),
             Contains("--weights " + timm + ": ") && Contains("look like efficientnet_b0"));
}

TEST_CASE("--load-partial takes the tensors that fit and says what starts anew") {
  const Trained trained("resnet18");
  Tensors file(trained.run + "/model/model.safetensors");
  file.header.erase("__metadata__");
  file.header.erase("layer1.0.conv1.weight");
  file.header["conv1.weight"]["shape"] = {32, 6, 7, 7};
  const std::string partial = trained.path("partial.safetensors");
  file.write(partial);
  Words words = {"train",    "--data",           trained.data, "--weights", partial,
                 "--model",  "resnet18",         "--size",     "32",        "--batch-size",
                 "20",       "--epochs",         "1",          "--lr",      "0.02",
                 "--output", trained.path("new")};
  CHECK_THAT(refusal(words), Contains("layer1.0.conv1.weight is missing") &&
                                 Contains("conv1.weight has") && Contains("32×6×7×7"));
  words.push_back("--load-partial");
  CHECK_THAT(succeeds(words).err, Contains("120 of 122 tensors taken") &&
                                      Contains("2 start anew") &&
                                      Contains("layer1.0.conv1.weight is missing"));

  // The classifier in the file has 6 outputs and 256 inputs. The model needs 4 and 512.
  file.header["fc.weight"]["shape"] = {6, 256};
  file.write(partial);
  test::make_images(trained.path("four"), 60, 12, 4, 48);
  words[2] = trained.path("four"), words[words.size() - 2] = trained.path("newer");
  CHECK_THAT(succeeds(words).err, Contains("119 of 122 tensors taken") &&
                                      Contains("3 start anew") && Contains("new classifier"));
}

TEST_CASE("--resume continues a checkpoint of PyTorch's imagenet example") {
  const test::TemporaryDirectory directory;
  const std::string data = (directory.path() / "data").string(),
                    run = (directory.path() / "run").string(),
                    example = (directory.path() / "example.pth.tar").string();
  const std::vector<char> content = test::gunzip(golden("imagenet_example.pth.tar.gz"));
  std::ofstream(example, std::ios::binary).write(content.data(), std::ssize(content));
  test::make_images(data, 60, 12, 3, 48);
  const Words words = {"train",    "--data", data,           "--size", "32",       "--epochs", "3",
                       "--output", run,      "--batch-size", "20",     "--resume", example};
  const auto outcome = succeeds(words);
  CHECK_THAT(outcome.out, Contains("Epoch: [2]") && !Contains("Epoch: [1]"));
  CHECK_THAT(outcome.err, Contains("PyTorch's imagenet example") && Contains("lr=0.05") &&
                              Contains("weight_decay=2e-04") && Contains("batch size"));
  const Json last = Json::parse(succeeds({"inspect", run, "--json"}).out);
  CHECK(last["values"]["step"] == "9");
  CHECK(last["values"]["epoch"] == "3");
  CHECK(last["values"]["arch"] == "resnet18");
  CHECK(last["settings"]["momentum"] == "0.8");
  CHECK(std::stod(last["values"]["best_top1"].get<std::string>()) >= 41.5);

  test::make_images(directory.path() / "two", 40, 8, 2, 48);
  CHECK_THAT(refusal({"train", "--data", (directory.path() / "two").string(), "--size", "32",
                      "--batch-size", "20", "--output", run + "2", "--resume", example}),
             Contains("3 classes") && Contains("has 2"));
}
