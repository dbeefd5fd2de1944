#include "data/labels/real_labels.h"

#include <catch2/catch.hpp>

#include "data/sources/relabeled.h"
#include "tests/data/sources/support.h"

using namespace shoal::data;
using Catch::Contains;
using Labels = std::vector<int32_t>;

namespace {

std::string refusal(const std::string& path) {
  try {
    const RealLabels labels(path, {"cat", "dog"}, 2);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("entry N of real.json has the labels of the image whose name ends in N") {
  const TempFolder folder;
  folder.write("real.json", "[[1], [], [0, 1]]");
  const RealLabels labels(folder / "real.json", {}, 2);
  CHECK(labels.of("val/n01440764/ILSVRC2012_val_00000001.JPEG") == Labels{1});
  CHECK(labels.of("ILSVRC2012_val_00000002.JPEG").empty());
  CHECK(labels.of("val.tar:ILSVRC2012_val_00000003.JPEG") == Labels{0, 1});
  CHECK_THROWS_WITH(labels.of("ILSVRC2012_val_00000004.JPEG"),
                    Contains("real.json") && Contains("00000004"));
  CHECK_THROWS_WITH(labels.of("cat.jpg"), Contains("cat.jpg"));
}

TEST_CASE("labels by image name are numbers or class names") {
  const TempFolder folder;
  folder.write("some.json", R"({"a.jpg": ["dog", 0], "sub/b": []})");
  const RealLabels labels(folder / "some.json", {"cat", "dog"}, 2);
  CHECK(labels.of("val/cat/a.png") == Labels{1, 0});
  CHECK(labels.of("b.jpg").empty());
}

TEST_CASE("a file with an invalid label is refused, and the error names the entry") {
  const TempFolder folder;
  const std::string path = folder / "labels.json";
  const auto refused = [&](const std::string& text) {
    folder.write("labels.json", text);
    return refusal(path);
  };
  CHECK_THAT(refused("[[0], [2]]"), Contains(path) && Contains("image 2") && Contains("label 2"));
  CHECK_THAT(refused("[[0], 1]"), Contains("image 2") && Contains("list"));
  CHECK_THAT(refused(R"({"a.jpg": ["bird"]})"), Contains("'a.jpg'") && Contains("bird"));
  CHECK_THAT(refused(R"({"a.jpg": [0], "x/a.png": [1]})"), Contains("twice"));
  CHECK_THAT(refused("no json"), Contains(path) && Contains("JSON"));
  CHECK_THAT(refused("[[-1]]"), Contains("image 1"));
}

TEST_CASE("class folders that are numbers are labels, in any order and with leading zeros") {
  CHECK(numeric_labels({"0", "1", "10", "2"}, 11) == Labels{0, 1, 10, 2});
  CHECK(numeric_labels({"007", "012"}, 13) == Labels{7, 12});
  CHECK(numeric_labels({"0", "11"}, 11).empty());
  CHECK(numeric_labels({"1", "01"}, 11).empty());
  CHECK(numeric_labels({"0", "cat"}, 11).empty());
}
