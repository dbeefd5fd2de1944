// Tests the commands that only read and write images: pack, prepare, bench loader.

#include <fcntl.h>
#include <signal.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file/descriptor.h"
#include "tests/support/files.h"
#include "tests/support/program.h"

using namespace shoal;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

// Class folders `data` with 40 training and 12 validation images, packed into `packed`.
struct PackedImages {
  PackedImages() {
    test::make_images(data, 40, 12, 3, 48);
    std::filesystem::create_directory(packed);
    for (const char* half : {"/train", "/val"}) {
      const auto pack = test::run_shoal({"pack", data + half, packed + half + ".pack", "--json"});
      INFO(pack.err);
      REQUIRE(pack.exit_code == 0);
      CHECK(Json::parse(pack.out).at("damaged") == 0);
    }
  }

  const test::TemporaryDirectory directory;
  const std::string data = directory.path() / "data", packed = directory.path() / "packed";
  const std::string set = packed + "/train.pack";
};

}  // namespace

TEST_CASE("pack describes and verifies a packed set, and names the images that two sets share") {
  const PackedImages images;
  const std::string &data = images.data, &set = images.set;
  const auto info = test::run_shoal({"pack", "--info", set, "--json"});
  REQUIRE(info.exit_code == 0);
  CHECK(Json::parse(info.out).at("images") == 40);
  CHECK(test::run_shoal({"pack", "--verify", set}).exit_code == 0);

  std::filesystem::copy(test::first_file(data + "/val"), data + "/train/copy.jpg");
  const auto shared = test::run_shoal({"pack", data + "/val", images.packed + "/again.pack",
                                       "--compare", data + "/train", "--json"});
  INFO(shared.err);
  REQUIRE(shared.exit_code == 0);
  const Json pairs = Json::parse(shared.out).at("shared");
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0] == Json{test::first_file(data + "/val").string(), data + "/train/copy.jpg"});
  CHECK_THAT(shared.err, Contains("share 1 image") && Contains("copy.jpg"));
  CHECK_THAT(test::run_shoal({"pack", data + "/val", images.packed + "/third.pack"}).err,
             Contains("--compare " + data + "/train"));
  test::write_text(images.packed + "/text", "no image");
  for (const std::string& nothing : {data + "/none", images.packed + "/text"}) {
    const auto refused =
        test::run_shoal({"pack", data + "/val", images.packed + "/no.pack", "--compare", nothing});
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, Contains("--compare: "));
  }

  std::fstream file(set, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(200);
  file.put('\x5a').put('\x5b').put('\x5c');
  file.close();
  const auto damaged = test::run_shoal({"pack", "--verify", set});
  CHECK(damaged.exit_code == 1);
  CHECK_THAT(damaged.out, Contains("39 of 40"));
}

TEST_CASE("pack replaces a packed set only with --overwrite, and never another file") {
  const PackedImages images;
  const std::string &data = images.data, &packed = images.packed, &set = images.set;
  const auto again = test::run_shoal({"pack", data + "/train", set});
  CHECK(again.exit_code == 0);
  CHECK_THAT(again.out, Contains("40 images") && Contains("packed already"));
  const auto refused = test::run_shoal({"pack", data + "/train", set, "--quality", "80"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, Contains(set) && Contains("--overwrite"));
  CHECK(test::run_shoal({"pack", data + "/train", set, "--overwrite"}).exit_code == 0);
  // A set cannot be packed onto its own source.
  for (const std::string& source : {set, data + "/train"}) {
    const std::string part = source == set ? set : test::first_file(data + "/train").string();
    const auto itself = test::run_shoal({"pack", source, part, "--overwrite", "--max-side", "20"});
    INFO(itself.err);
    CHECK(itself.exit_code == 2);
    CHECK_THAT(itself.err, Contains(part));
  }
  CHECK(test::run_shoal({"pack", "synthetic:4:2", packed + "/made", "--overwrite"}).exit_code == 0);
  CHECK(test::run_shoal({"pack", "synthetic:4:2", packed + "/made", "--overwrite"}).exit_code == 0);
  const std::string other = set + ".txt";
  std::ofstream(other) << "a text";
  const auto text = test::run_shoal({"pack", data + "/train", other, "--overwrite"});
  CHECK(text.exit_code == 2);
  CHECK_THAT(text.err, Contains(other));
  CHECK(std::filesystem::file_size(other) == 6);
}

TEST_CASE("training from packed sets gives the same loss as training from their sources") {
  const PackedImages images;
  const auto losses = [&](const std::string& source, const std::string& name) {
    const std::filesystem::path output = images.directory.path() / name;
    // clang-format off
    const auto run = test::run_shoal({
        "train", "--data", source, "--output", output, "--model",
        "mobilenet_v3_small", "--size", "32", "--batch-size", "8", "--epochs", "1", "--lr",
        "0.02"});
    // clang-format on
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    return Json::parse(test::read_text(output / "summary.json")).at("train").at("loss");
  };
  CHECK(losses(images.data, "from-folders") == losses(images.packed, "from-packs"));
}

TEST_CASE("interrupted packing continues when the command is repeated") {
  const test::TemporaryDirectory directory;
  const std::string data = directory.path() / "data", set = directory.path() / "set.pack";
  test::make_images(data, 600, 3, 3, 160);
  const std::vector<std::string> words = {"pack", data + "/train", set,  "--max-side",
                                          "120",  "--quality",     "90", "--workers",
                                          "1",    "--json"};
  bool sent = false;
  const auto interrupted = test::run_shoal(words, {}, [&](pid_t program) {
    std::error_code none_yet;
    const auto noted = std::filesystem::file_size(set + ".partial.table", none_yet);
    if (!sent && !none_yet && noted > 1000) sent = ::kill(program, SIGINT) == 0;
    return false;
  });
  CHECK(interrupted.exit_code == 128 + SIGINT);
  CHECK_THAT(interrupted.err, Contains("interrupted"));
  CHECK_FALSE(std::filesystem::exists(set));
  const auto whole = test::run_shoal(words);
  INFO(whole.err);
  REQUIRE(whole.exit_code == 0);
  CHECK(Json::parse(whole.out).at("images") == 600);
  CHECK(Json::parse(whole.out).at("resumed") > 0);
}

namespace {

namespace fs = std::filesystem;

void tar(std::vector<std::string> words) {
  const auto outcome = test::run_program("/bin/tar", words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
}

// Writes ImageNet's three archives with 60 training and 12 validation images of the three classes
// in the golden meta.mat.
void make_downloads(const fs::path& root) {
  const fs::path downloads = root / "downloads", made = root / "made", val = root / "flat";
  const fs::path kit = root / "ILSVRC2012_devkit_t12" / "data";
  test::make_images(made, 60, 12, 3, 48);
  for (const fs::path& folder : {downloads, val, root / "classes", kit})
    fs::create_directories(folder);
  const std::map<std::string, int> numbers = {{"n01", 300}, {"n02100735", 2}, {"n02119789", 1}};
  std::ofstream truth(kit / "ILSVRC2012_validation_ground_truth.txt");
  int image = 0;
  auto name = numbers.begin();
  std::set<fs::path> folders;
  for (const auto& folder : fs::directory_iterator(made / "train")) folders.insert(folder.path());
  for (const fs::path& folder : folders) {
    const std::string archive = root / "classes" / (name->first + ".tar");
    tar({"-cf", archive, "-C", folder.string(), "."});
    for (const auto& file : fs::directory_iterator(made / "val" / folder.filename())) {
      const std::string digits = std::to_string(100000000 + ++image).substr(1);
      // The first validation image is a training image with a comment.
      std::string bytes = test::read_text(image == 1 ? test::first_file(folder) : file.path());
      if (image == 1) bytes.insert(2, std::string("\xff\xfe\x00\x06note", 8));
      test::write_text(val / ("ILSVRC2012_val_" + digits + ".JPEG"), bytes);
      truth << name->second << "\n";
    }
    ++name;
  }
  truth.close();
  fs::copy_file(SHOAL_SOURCE_DIR "/tests/golden/records/meta.mat", kit / "meta.mat");
  tar({"-cf", downloads / "ILSVRC2012_img_train.tar", "-C", root / "classes", "."});
  tar({"-cf", downloads / "ILSVRC2012_img_val.tar", "-C", val, "."});
  tar({"-czf", downloads / "ILSVRC2012_devkit_t12.tar.gz", "-C", root, "ILSVRC2012_devkit_t12"});
}

}  // namespace

TEST_CASE("a signal ends `shoal prepare` while it waits for an archive") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  make_downloads(root);
  const fs::path kit = root / "downloads" / "ILSVRC2012_devkit_t12.tar.gz";
  test::replace_by_pipe(kit);
  Descriptor writer;
  const auto stopped = test::run_shoal(
      {"prepare", "imagenet", root / "downloads", root / "made"}, {},
      [&](pid_t shoal) {
        if (writer.is_open()) return false;
        writer = open_file(kit.c_str(), O_WRONLY | O_NONBLOCK);
        if (writer.is_open()) CHECK(::kill(shoal, SIGTERM) == 0);  // otherwise, nobody reads yet
        return false;
      },
      60);
  CHECK(writer.is_open());
  CHECK(stopped.exit_code == 143);
  CHECK_THAT(stopped.err, Contains("interrupted; repeat the command to continue"));
}

TEST_CASE("prepare turns ImageNet's archives into folders, tars or packs that train alike") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  make_downloads(root);
  const auto prepare = [&](const std::string& as, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"prepare", "imagenet", root / "downloads",
                                      root / as, "--as",     as};
    words.insert(words.end(), more.begin(), more.end());
    return test::run_shoal(words);
  };
  std::set<std::string> losses;
  for (const std::string as : {"folders", "tars", "packs"}) {
    const auto first = prepare(as);
    INFO(first.err);
    REQUIRE(first.exit_code == 0);
    CHECK_THAT(first.out, Contains("60 images") && Contains("12 images") &&
                              Contains("shoal train --data " + (root / as).string()));
    const auto again = prepare(as, {"--json"});
    INFO(again.err);
    REQUIRE(again.exit_code == 0);
    const Json json = Json::parse(again.out);
    CHECK(json.at("train").at("kept") == 60);
    REQUIRE(json.at("shared").size() == 1);
    CHECK_THAT(json["shared"][0][0].get<std::string>(), Contains("n01"));
    CHECK_THAT(json["shared"][0][1].get<std::string>(), Contains("val_00000001"));
    CHECK(json.at("val").at("kept") == 12);
    // clang-format off
    const auto run = test::run_shoal({
        "train", "--data", root / as, "--output", root / ("run-" + as), "--model",
        "mobilenet_v3_small", "--size", "32", "--batch-size", "8", "--epochs", "1", "--lr",
        "0.02"});
    // clang-format on
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    const Json summary = Json::parse(test::read_text(root / ("run-" + as) / "summary.json"));
    losses.insert(summary.at("train").at("loss").dump() + summary.at("valid").at("loss").dump());
  }
  CHECK(losses.size() == 1);
  const auto other = prepare("packs", {"--max-side", "40"});
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.err, Contains("train.pack") && Contains("other options"));
  // GNU tar can read our tars.
  tar({"-xf", root / "tars" / "train" / "n01.tar", "-C", root / "flat"});
  for (const auto& file : fs::directory_iterator(root / "folders" / "train" / "n01"))
    CHECK(test::read_text(file) == test::read_text(root / "flat" / file.path().filename()));

  // A repeated command keeps complete files and writes missing and truncated ones.
  const fs::path one = fs::directory_iterator(root / "folders" / "train" / "n01")->path();
  fs::resize_file(one, 10);
  fs::remove_all(root / "folders" / "val" / "n02119789");
  const auto resumed = prepare("folders", {"--json"});
  REQUIRE(resumed.exit_code == 0);
  CHECK(Json::parse(resumed.out).at("train").at("kept") == 59);
  CHECK(Json::parse(resumed.out).at("val").at("kept") == 8);
  CHECK(fs::file_size(one) > 10);
}

TEST_CASE("prepare refuses names of classes that are paths, and writes nothing") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  test::make_images(root / "made", 2, 2, 2, 40);
  for (const char* folder : {"images", "flat", "downloads"}) fs::create_directories(root / folder);
  for (const char* copy : {"images/1.jpg", "images/2.jpg", "flat/3.jpg"})
    fs::copy_file(test::first_file(root / "made"), root / copy);
  std::ofstream(root / "labels.txt") << "3.jpg n02\n";
  const auto prepare = [&](const std::string& name, const std::string& as) {
    const auto line = [](const std::string& image, const std::string& label) {
      return Json{{"source-ref", "s3://bucket/images/" + image}, {"class", label}}.dump() + "\n";
    };
    std::ofstream(root / "train.jsonl") << line("1.jpg", name) << line("2.jpg", "n02");
    // clang-format off
    return test::run_shoal({
        "prepare", "imagenet", root / "downloads", root / "outer/dest", "--as", as, "--train",
        root / "train.jsonl", "--val", root / "flat", "--val-labels", root / "labels.txt"});
    // clang-format on
  };
  const auto files = [&] {
    std::set<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(root)) found.insert(entry.path());
    return found;
  };
  prepare(".", "folders");  // writes the manifest
  CHECK_FALSE(fs::exists(root / "outer/dest/train"));
  const std::set<fs::path> before = files();
  for (const std::string as : {"folders", "tars"})
    for (const std::string& name : {std::string("../../pwn"), (root / "abs").string(),
                                    std::string("a/b"), std::string(".")}) {
      INFO(as << " " << name);
      const auto outcome = prepare(name, as);
      INFO(outcome.err);
      CHECK(outcome.exit_code == 2);
      CHECK_THAT(outcome.err, Contains("the class '" + name + "'"));
      CHECK(files() == before);
    }
  CHECK(prepare("n01", "folders").exit_code == 0);  // so only the names were refused
}

TEST_CASE("prepare names a missing argument or archive") {
  const test::TemporaryDirectory directory;
  const fs::path& root = directory.path();
  make_downloads(root);
  const std::string from = root / "downloads", to = root / "to";
  test::check_refused({"prepare", "imagenet", from}, "prepare imagenet DOWNLOADS DEST");
  test::check_refused({"prepare", "cifar", from, to}, "prepare imagenet DOWNLOADS DEST");
  test::check_refused({"prepare", "imagenet", from, to, "--quality", "80"}, "--as packs");
  test::check_refused({"prepare", "imagenet", from, "/proc/to"}, "cannot write to /proc");
  test::check_refused({"pack", root / "flat", "/proc/set.pack"}, "cannot write to /proc");
  test::check_refused({"prepare", "imagenet", root / "flat", to}, "ILSVRC2012_img_train.tar");
  fs::rename(root / "downloads" / "ILSVRC2012_devkit_t12.tar.gz", root / "kit.tar.gz");
  test::check_refused({"prepare", "imagenet", from, to}, "--val-labels");
  tar({"-czf", root / "other.tar.gz", "-C", root / "flat", "."});
  test::check_refused({"prepare", "imagenet", from, to, "--val-labels", root / "other.tar.gz"},
                      "not ImageNet's development kit");
  CHECK_FALSE(fs::exists(to));
}

TEST_CASE("bench loader measures a folder and reports the bottleneck") {
  const test::TemporaryDirectory directory;
  const std::string data = directory.path() / "data";
  test::make_images(data, 40, 12, 3, 48);
  const auto bench = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"bench", "loader", data, "--seconds", "0.05", "--size", "32"};
    words.insert(words.end(), more.begin(), more.end());
    return test::run_shoal(words);
  };
  const auto json = bench({"--json", "--threads", "1", "--wanted", "1"});
  INFO(json.err);
  REQUIRE(json.exit_code == 0);
  const Json result = Json::parse(json.out);
  CHECK(result.at("images_per_sec").get<double>() > 0);
  CHECK(result.at("images") == 40);
  CHECK(result.at("threads_needed") == 1);
  REQUIRE(result.at("runs").size() == 1);
  CHECK(result.at("runs")[0].at("seconds_per_image").at("resize").get<double>() > 0);

  const auto eval = bench({"--eval", "--val-size", "32", "--threads", "2"});
  INFO(eval.err);
  REQUIRE(eval.exit_code == 0);
  CHECK_THAT(eval.out, Contains("images/s") && Contains("2 threads"));
  CHECK(Json::parse(bench({"--eval", "--json", "--threads", "1"}).out).at("images") == 12);
  CHECK(bench({"--order", "chunked", "--cache", "1M", "--mode", "fast"}).exit_code == 0);

  CHECK_THAT(bench({"--decoder", "turbo", "--mode", "fast"}).err, Contains("--decoder turbo"));
  CHECK_THAT(test::run_shoal({"bench", "sink", data}).err, Contains("bench loader DATA"));
  CHECK_THAT(bench({"--seconds", "0"}).err, Contains("--seconds"));
  CHECK_THAT(bench({"--cache", "much"}).err, Contains("--cache is 'much'"));
}
