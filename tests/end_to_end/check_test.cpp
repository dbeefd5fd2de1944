// Tests shoal check.

#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/program.h"

using namespace shoal;
using Catch::Contains;
using Json = nlohmann::json;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

// Class folders `data` with 45 training and 12 validation images of three classes.
struct CheckedFolders {
  CheckedFolders() {
    test::make_images(data, 45, 12, 3, 48);
    for (const auto& folder : fs::directory_iterator(data + "/train"))
      classes.push_back(folder.path().filename());
    std::sort(classes.begin(), classes.end());
    REQUIRE(classes.size() == 3);
  }

  // Returns the path of one of the images of a class. `split`: /train or /val.
  std::string image(const std::string& split, size_t label) const {
    return test::first_file(data + split + "/" + classes[label]);
  }
  std::string new_file(const std::string& split, size_t label, const std::string& name) const {
    return data + split + "/" + classes[label] + "/" + name;
  }

  const test::TemporaryDirectory directory;
  const std::string data = directory.path() / "data";
  Words classes;
};

Json checked(const Words& words, int exit_code) {
  const auto outcome = test::run_shoal(test::joined({"check", "--json"}, words));
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == exit_code);
  return Json::parse(outcome.out);
}

// Returns the first word of each row that `shoal check` prints, in order, without repetitions.
Words kinds_of_rows(const std::string& out) {
  Words kinds;
  for (const std::string& line : test::lines_of(out)) {
    const std::string kind = line.substr(0, line.find(' '));
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds;
}

}  // namespace

TEST_CASE("check finds nothing wrong in clean folders, tars and packed sets") {
  const CheckedFolders images;
  const std::string pack = images.directory.path() / "train.pack";
  const std::string tar = images.directory.path() / "train.tar";
  REQUIRE(test::run_shoal({"pack", images.data + "/train", pack}).exit_code == 0);
  const auto tarred =
      test::run_program("/bin/tar", {"-cf", tar, "-C", images.data + "/train", "."});
  REQUIRE(tarred.exit_code == 0);
  for (const std::string& train : {images.data + "/train", pack, tar}) {
    const Json json = checked({"--train", train, "--val", images.data + "/val"}, 0);
    INFO(json.dump(1));
    CHECK(json.at("images") == 57);
    CHECK(json.at("damaged") == 0);
    CHECK(json.at("images_per_sec") > 0);
    CHECK(json.at("train").at("source") == train);
    CHECK(json["train"].at("images") == 45);
    CHECK(json["train"].at("classes").at(images.classes[2]) == 15);
    CHECK(json["train"].at("formats") == Json{{"baseline JPEG", 45}});
    CHECK(json["train"].at("median") == Json{48, 48});
    CHECK(json.at("val").at("images") == 12);
    for (const char* list : {"damaged", "duplicates", "contradictions"})
      for (const char* split : {"train", "val"}) CHECK(json[split].at(list).empty());
    for (const char* list : {"shared", "contradictions", "only_in_train", "only_in_val"})
      CHECK(json.at(list).empty());
  }
  const auto text = test::run_shoal({"check", "--data", images.data});
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, Contains("45 images of 3 classes") && Contains("12 images of 3 classes") &&
                           Contains("45 baseline JPEG") && Contains("48x48") &&
                           Contains("57 images, ") && Contains("all readable"));
  CHECK(kinds_of_rows(text.out) ==
        Words{"train", "classes", "formats", "pixels", "val", "class", "total"});
}

TEST_CASE("check names damaged images with reasons, and exits with 1") {
  const CheckedFolders images;
  const std::string cut = images.image("/train", 0);
  fs::resize_file(cut, fs::file_size(cut) / 2);
  const std::string empty = images.new_file("/train", 1, "empty.jpg");
  const std::string text = images.new_file("/val", 2, "text.jpg");
  test::write_text(empty, "");
  test::write_text(text, "no image");
  const Json json = checked({"--data", images.data, "--workers", "3"}, 1);
  CHECK(json.at("damaged") == 3);
  const Json& train = json.at("train").at("damaged");
  REQUIRE(train.size() == 2);
  CHECK(train[0].at("image") == cut);
  CHECK_THAT(train[0].at("reason").get<std::string>(), Contains("damaged JPEG"));
  CHECK(train[1] == Json{{"image", empty}, {"reason", "the file is empty"}});
  REQUIRE(json.at("val").at("damaged").size() == 1);
  CHECK(json["val"]["damaged"][0].at("image") == text);
  CHECK(json["train"].at("formats") == Json{{"baseline JPEG", 44}});
  // Damaged images do not count as duplicates of one another.
  CHECK((json["train"].at("duplicates").empty() && json.at("shared").empty()));

  const auto rows = test::run_shoal({"check", "--data", images.data});
  CHECK(rows.exit_code == 1);
  CHECK_THAT(rows.out, Contains(cut + ": damaged JPEG") &&
                           Contains(empty + ": the file is empty") &&
                           Contains(text + ": not a JPEG") && Contains("3 damaged images"));
}

TEST_CASE("check names equal images within a split and in both, and contradicting labels") {
  const CheckedFolders images;
  const std::string one = images.image("/train", 0), two = images.image("/train", 1);
  const std::string copy = images.new_file("/train", 0, "~copy.jpg");
  const std::string wrong = images.new_file("/train", 2, "wrong.jpg");
  const std::string leak = images.new_file("/val", 1, "leak.jpg");
  const std::string wrong_leak = images.new_file("/val", 2, "wrong_leak.jpg");
  fs::copy(one, copy);
  fs::copy(two, wrong);
  fs::copy(two, leak);
  fs::copy(two, wrong_leak);
  const Json json = checked({"--data", images.data}, 0);
  const Json& train = json.at("train");
  CHECK(train.at("duplicates") == Json::array({Json{one, copy}, Json{two, wrong}}));
  CHECK(train.at("contradictions") ==
        Json::array(
            {{{"images", {two, wrong}}, {"classes", {images.classes[1], images.classes[2]}}}}));
  CHECK(json.at("val").at("duplicates") == Json::array({Json{leak, wrong_leak}}));
  CHECK(json.at("shared") == Json::array({Json{two, leak}, Json{two, wrong_leak}}));
  REQUIRE(json.at("contradictions").size() == 1);
  CHECK(json["contradictions"][0].at("images") == Json{two, wrong_leak});

  const auto rows = test::run_shoal({"check", "--data", images.data});
  CHECK(rows.exit_code == 0);
  CHECK_THAT(rows.out, Contains(one + " = " + copy) && Contains(two + " = " + leak) &&
                           Contains(two + " (" + images.classes[1] + ") = " + wrong + " (" +
                                    images.classes[2] + ")") &&
                           Contains("3 contradicting labels") && Contains("3 duplicates") &&
                           Contains("2 shared images"));
}

TEST_CASE("check names small classes and the classes that only one split has") {
  const CheckedFolders images;
  fs::remove_all(images.data + "/val/" + images.classes[0]);
  fs::create_directories(images.data + "/val/zebra");
  fs::copy(images.image("/val", 1), images.data + "/val/zebra/1.jpg");
  const Json json = checked({"--data", images.data}, 0);
  CHECK(json.at("only_in_train") == Json{images.classes[0]});
  CHECK(json.at("only_in_val") == Json{"zebra"});
  CHECK(json.at("train").at("few_images").empty());
  REQUIRE(json.at("val").at("few_images").size() == 3);
  CHECK(json["val"]["few_images"][2] == Json{{"class", "zebra"}, {"images", 1}});
  const auto rows = test::run_shoal({"check", "--data", images.data});
  CHECK_THAT(rows.out, Contains("1 image ('zebra') to 4 images") &&
                           Contains("'zebra' is only in val") &&
                           Contains("'" + images.classes[0] + "' is only in train"));
}

TEST_CASE("check prints at most ten rows of a kind, and no name can forge a row") {
  const CheckedFolders images;
  for (int i = 0; i < 12; ++i)
    test::write_text(images.new_file("/train", 0, "bad" + std::to_string(i) + ".jpg"), "no image");
  test::write_text(images.new_file("/train", 0, "a\ntrain:loss=1;\x1b[2J.jpg"), "no image");
  const auto rows = test::run_shoal({"check", "--train", images.data + "/train"});
  CHECK(rows.exit_code == 1);
  CHECK(test::count_of(rows.out, "\ndamaged ") == 11);
  CHECK_THAT(rows.out, Contains("3 more") && Contains("13 damaged images") &&
                           Contains("a\\ntrain:loss=1;\\x1b[2J.jpg") && !Contains("\x1b") &&
                           !Contains("\ntrain:"));
  CHECK(checked({"--train", images.data + "/train"}, 1).at("train").at("damaged").size() == 13);
}

TEST_CASE("check needs images that can be read more than once") {
  const CheckedFolders images;
  test::check_refused({"check"}, "--data");
  test::check_refused({"check", "--data", images.data + "/none"}, "does not exist");
  test::check_refused({"check", "--data", images.data + "/val"}, "--train " + images.data + "/val");
  test::check_refused({"check", "--train", "pipe:/tmp/train", "--val", images.data + "/val"},
                      "--train pipe:/tmp/train");
  test::check_refused({"check", "--data", images.data, "--tfrecord-keys", "image=a"},
                      "--tfrecord-keys");
  // One split is enough.
  const auto val = test::run_shoal({"check", "--val", images.data + "/val", "--json"});
  CHECK(val.exit_code == 0);
  CHECK_FALSE(Json::parse(val.out).contains("train"));
  fs::remove_all(images.data + "/val");
  const auto train = test::run_shoal({"check", "--data", images.data});
  CHECK(train.exit_code == 0);
  CHECK_THAT(train.err, Contains("no val images"));
}

TEST_CASE("an interrupted check exits with a sentence and 128 + signal") {
  const CheckedFolders images;
  const std::string labels = images.directory.path() / "labels";
  fs::remove_all(images.data + "/train");
  // The check waits for the labels, which nobody writes.
  REQUIRE(::mkfifo(labels.c_str(), 0600) == 0);
  fs::create_directories(images.data + "/flat");
  fs::copy(images.image("/val", 0), images.data + "/flat/1.jpg");
  const auto outcome = test::run_shoal(
      {"check", "--data", images.data, "--val", images.data + "/flat", "--val-labels", labels}, {},
      [](pid_t program) {
        if (test::stderr_of(program).find("no train images") != std::string::npos)
          ::kill(program, SIGINT);
        return false;
      });
  CHECK(outcome.exit_code == 128 + SIGINT);
  CHECK_THAT(outcome.err, Contains("interrupted"));
  CHECK(outcome.out.empty());
}
