#include "data/pack/arrange.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/data/pack/support.h"

using namespace shoal::data;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// One image per class.
struct NamedImages : BasicDataset {
  NamedImages(std::vector<std::string> classes, std::vector<std::string> names)
      : classes_(std::move(classes)), names(std::move(names)) {}
  int64_t size() const override { return static_cast<int64_t>(names.size()); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t sample) const override { return static_cast<int32_t>(sample); }
  std::string name(int64_t sample) const override { return names[static_cast<size_t>(sample)]; }
  void read(int64_t sample, Bytes& bytes) const override {
    bytes = {1, 2, static_cast<uint8_t>(sample)};
  }

  std::vector<std::string> classes_, names;
};

ArrangeSummary arranged(const Dataset& source, const fs::path& dest, Arrangement arrangement) {
  return arrange(
      source, dest, arrangement, 1, [](int64_t) {}, [](const std::string&) {});
}

}  // namespace

TEST_CASE("names of classes and images cannot leave the destination or hide in it") {
  const TempFolder folder;
  const fs::path dest = fs::path(folder.path()) / "outer/dest";
  for (const auto arrangement : {Arrangement::folders, Arrangement::tars}) {
    for (const std::string& name :
         {std::string(".."), std::string("."), std::string(), std::string("../../pwn"),
          folder / "abs", std::string("a/b"), std::string(".hidden"), std::string("a\0b", 3)}) {
      INFO(name);
      CHECK_THROWS_WITH(arranged(NamedImages({name}, {"1.jpg"}), dest, arrangement),
                        Contains("the class '") && Contains("rename it"));
    }
    for (const std::string& name : {std::string("x/.."), std::string("x:.."), std::string("x/"),
                                    std::string(".a.jpg"), std::string("a\0.jpg", 6)})
      CHECK_THROWS_WITH(arranged(NamedImages({"cat"}, {name}), dest, arrangement),
                        Contains("the image '") && Contains("rename it"));
    CHECK(arranged(NamedImages({"cat", "dog"}, {"set:1.jpg", "../1.jpg"}), dest, arrangement)
              .images == 2);
  }
  CHECK(fs::exists(dest / "cat/1.jpg"));
  CHECK(fs::exists(dest / "dog.tar"));
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a class without images gets no folder, because shoal refuses empty class folders") {
  const TempFolder folder;
  arranged(NamedImages({"cat", "dog"}, {"1.jpg"}), folder.path(), Arrangement::folders);
  CHECK(fs::exists(folder / "cat/1.jpg"));
  CHECK_FALSE(fs::exists(folder / "dog"));
}

TEST_CASE("a file of the right size with another content is written again") {
  const TempFolder folder;
  const NamedImages source({"cat", "dog"}, {"1.jpg", "2.jpg"});
  CHECK(arranged(source, folder.path(), Arrangement::folders).kept == 0);
  folder.write("cat/1.jpg", Bytes{0, 0, 0});  // as after a power loss
  const ArrangeSummary again = arranged(source, folder.path(), Arrangement::folders);
  CHECK(again.images == 2);
  CHECK(again.kept == 1);
  CHECK(file_bytes(folder / "cat/1.jpg") == Bytes{1, 2, 0});
}

TEST_CASE("a tar with the same names but other content is written again") {
  const TempFolder folder;
  const NamedImages source({"cat", "dog"}, {"1.jpg", "2.jpg"});
  CHECK(arranged(source, folder.path(), Arrangement::tars).kept == 0);
  const Bytes whole = file_bytes(folder / "cat.tar");
  Bytes changed = whole;
  changed[512] ^= 1;  // the first byte of the image
  folder.write("cat.tar", changed);
  ArrangeSummary again = arranged(source, folder.path(), Arrangement::tars);
  CHECK(again.images == 2);
  CHECK(again.kept == 1);
  CHECK(again.damaged == 0);
  CHECK(file_bytes(folder / "cat.tar") == whole);
  changed = whole;
  changed.push_back(0);
  folder.write("cat.tar", changed);
  CHECK(arranged(source, folder.path(), Arrangement::tars).kept == 1);
  CHECK(file_bytes(folder / "cat.tar") == whole);
}

TEST_CASE("a tar of other images is not taken for one of an earlier run") {
  const TempFolder folder;
  arranged(NamedImages({"cat"}, {"1.jpg"}), folder.path(), Arrangement::tars);
  CHECK(arranged(NamedImages({"cat"}, {"1.jpg"}), folder.path(), Arrangement::tars).kept == 1);
  CHECK_THROWS_WITH(arranged(NamedImages({"cat"}, {"2.jpg"}), folder.path(), Arrangement::tars),
                    Contains("cat.tar") && Contains("1.jpg"));
}
