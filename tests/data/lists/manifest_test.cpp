#include "data/lists/manifest.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "data/errors.h"
#include "tests/data/sources/support.h"

using namespace shoal::data;
using Catch::Contains;
using Texts = std::vector<std::string>;

TEST_CASE("a manifest's images have the classes of their folders") {
  TempFolder t;
  t.write("dog/1.jpg", "a");
  t.write("cat/2.jpg", "b");
  t.write("train.manifest", R"([{"prefix": "s3://bucket/some/where/"}, "dog/1.jpg", "cat/2.jpg"])");
  const Texts expected = {"1 dog 1.jpg a", "0 cat 2.jpg b"};
  CHECK(described(*open_dataset(t / "train.manifest")) == expected);
  t.write("local.manifest", R"([{"prefix": ")" + t.path() + R"(/"}, "dog/1.jpg", "cat/2.jpg"])");
  CHECK(described(*open_dataset(t / "local.manifest")) == expected);
  t.write("bare.manifest", R"( ["dog/1.jpg", "cat/2.jpg"])");
  CHECK(described(*open_dataset(t / "bare.manifest")) == expected);
  CHECK(open_dataset(t / "bare.manifest")->name(0) == t / "dog/1.jpg");
  t.write("bare.manifest", R"([{"prefix": "s3://bucket/set"}, "/dog/1.jpg", "/cat/2.jpg"])");
  CHECK(described(*open_dataset(t / "bare.manifest")) == expected);
}

TEST_CASE("paths of a manifest without a folder are relative") {
  TempFolder t;
  t.write("dog/1.jpg", "a");
  t.write("m", R"([{"prefix": "s3://bucket//"}, "dog/1.jpg"])");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(t.path());
  const auto images = open_dataset("m");
  CHECK((images->name(0) == "dog/1.jpg" && images->key(0) == "dog/1.jpg"));
  CHECK(content(*images, 0) == "a");
  t.write("none", R"(["dog/2.jpg"])");
  CHECK_THAT(message_of("none"), Contains("which is not in ."));
  std::filesystem::current_path(before);
}

TEST_CASE("files of a manifest that are not images are left out and create no class") {
  TempFolder t;
  for (const char* name : {"dog/1.jpg", "cat/2.jpg", "meta/labels.json", "labels.json"})
    t.write(name, "a");
  t.write("m", R"(["dog/1.jpg", "meta/labels.json", "cat/2.jpg", "labels.json"])");
  OpenOptions options;
  std::string warnings;
  options.warning = [&](const std::string& text) { warnings += text; };
  CHECK(described(*open_dataset(t / "m", options)) == Texts{"1 dog 1.jpg a", "0 cat 2.jpg a"});
  CHECK_THAT(warnings, Contains("2 files") && Contains("meta/labels.json"));
}

TEST_CASE("a manifest's names of folders are left out") {
  TempFolder t;
  t.write("dog/1.jpg", "a");
  t.write("m", R"({"source-ref": "/", "n": 0})"
               "\n"
               R"({"source-ref": "file://", "n": 1})"
               "\n"
               R"({"source-ref": "s3://bucket/dog/1.jpg", "n": 0})");
  const auto images = open_dataset(t / "m");
  REQUIRE(images->size() == 1);
  CHECK(images->key(0) == "dog/1.jpg");
}

TEST_CASE("an augmented manifest's images have the labels of their lines") {
  TempFolder t;
  t.write("images/1.jpg", "a");
  t.write("images/2.jpg", "b");
  const std::string first = R"({"source-ref": "s3://bucket/set/images/1.jpg", "animal": 1})",
                    second = R"({"animal": 0, "source-ref": "s3://bucket/set/images/2.jpg"})";
  t.write("a.jsonl", first + "\n" + second + "\n\n");
  CHECK(described(*open_dataset(t / "a.jsonl")) == Texts{"1 1 1.jpg a", "0 0 2.jpg b"});
  t.write("a.jsonl", R"({"source-ref": "s3://b/images/1.jpg", "animal": 0, "animal-metadata":
      {"class-name": "dog", "type": "groundtruth/image-classification", "confidence": 0.9}})");
  CHECK_THAT(message_of(t / "a.jsonl"), Contains("line 1: expected a JSON object"));
  t.write("a.jsonl", R"({"source-ref": "s3://b/images/1.jpg", "animal": 0, "animal-metadata": )"
                     R"({"class-name": "dog", "confidence": 0.9}})"
                     "\n"
                     R"({"source-ref": "s3://b/images/2.jpg", "animal": "cat"})");
  CHECK(described(*open_dataset(t / "a.jsonl")) == Texts{"1 dog 1.jpg a", "0 cat 2.jpg b"});
  OpenOptions options;
  options.classes = {"cat", "cow", "dog"};
  CHECK(described(*open_dataset(t / "a.jsonl", options)) ==
        Texts{"2 dog 1.jpg a", "0 cat 2.jpg b"});
  options.classes = {"cat"};
  CHECK_THAT(message_of(t / "a.jsonl", options), Contains("images/1.jpg"));
}

TEST_CASE("malformed manifests are refused, and the error names the line") {
  TempFolder t;
  t.write("cat/1.jpg", "a");
  const auto refused = [&](const std::string& text) {
    t.write("m", text);
    return message_of(t / "m");
  };
  CHECK_THAT(refused("[1]"), Contains("m entry 1: expected the name"));
  CHECK_THAT(refused("[\"cat/1.jpg\""), Contains("it is not JSON"));
  CHECK_THAT(refused("[\"1.jpg\"]"), Contains("no class folder"));
  CHECK_THAT(refused("[\"dog/1.jpg\"]"), Contains("dog/1.jpg, which is not in"));
  CHECK_THAT(refused("[\"" + std::string(300, 'a') + "/1.jpg\"]"), Contains("which is not in"));
  CHECK_THAT(refused("[]"), Contains("names no image"));
  CHECK_THAT(refused("{}"), Contains("line 1: there is no source-ref"));
  CHECK_THAT(refused(R"({"source-ref": "s3://b/cat/1.jpg"})"), Contains("there is no label"));
  CHECK_THAT(refused(R"({"source-ref": "s3://b/cat/1.jpg", "a": -1})"),
             Contains("there is no label"));
  CHECK_THAT(refused(R"({"source-ref": "s3://b/cat/1.jpg", "a": 1, "b": 2})"),
             Contains("several labels (a, b)"));
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  CHECK_THAT(refused(deep), Contains("it is not JSON"));
  CHECK_THAT(refused(R"({"source-ref": "s3://b/cat/1.jpg", "a": )" + deep + "}"),
             Contains("line 1: expected a JSON object"));
  t.write("m", "[\"cat/1.jpg\", \"cat/gone.jpg\"]");
  Bytes bytes;
  CHECK_THROWS_AS(open_dataset(t / "m")->read(1, bytes), DamagedImage);
}
