#include "data/labels/labels.h"

#include <catch2/catch.hpp>

#include "tests/data/sources/support.h"

using namespace shoal::data;
using Catch::Contains;
using Texts = std::vector<std::string>;

namespace {

// Three images without classes, in a tar and in a folder.
struct Validation {
  Validation() {
    Members members;
    for (const char* number : {"1", "2", "3"}) {
      members.emplace_back("ILSVRC2012_val_0000000" + std::string(number) + ".JPEG", number);
      folder.write("flat/" + members.back().first, members.back().second);
    }
    folder.write("val.tar", make_tar(members));
  }
  Texts opened(const std::string& labels, const std::string& synsets = "") {
    folder.write("labels", labels);
    options.labels = folder / "labels";
    options.synsets.clear();
    if (!synsets.empty()) {
      folder.write("synsets", synsets);
      options.synsets = folder / "synsets";
    }
    Texts lines;
    for (std::string line : described(*open_dataset(folder / "val.tar", options)))
      lines.push_back(line.erase(line.find(" ILS"), 29));
    CHECK(described(*open_dataset(folder / "flat", options)) ==
          described(*open_dataset(folder / "val.tar", options)));
    return lines;
  }
  std::string refused(const std::string& labels, const std::string& synsets = "") {
    try {
      opened(labels, synsets);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }
  TempFolder folder;
  OpenOptions options;
};

// Returns "" if read_synsets() returns `names`, "other names" if it returns something else, and its
// error message if it throws.
std::string refused_synsets(const std::string& path, const std::map<int64_t, std::string>& names) {
  try {
    return read_synsets(path) == names ? "" : "other names";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("the classes of flat images come from a list, Kaggle's table or the devkit") {
  Validation v;
  const Texts expected = {"0 n01 2", "0 n01 3", "1 n02 1"};
  CHECK(v.opened("ILSVRC2012_val_00000001.JPEG n02\nval/ILSVRC2012_val_00000002.JPEG n01\n"
                 "ILSVRC2012_val_00000003\tn01\r\n") == expected);
  CHECK(v.opened("ImageId,PredictionString\nILSVRC2012_val_00000003,n01 85 1 499 272 \n"
                 "ILSVRC2012_val_00000001,n02 1 2 3 4 n02 5 6 7 8 \n"
                 "ILSVRC2012_val_00000002,n01 1 2 3 4 \n") == expected);
  CHECK(v.opened("\xef\xbb\xbfimage,label\nILSVRC2012_val_00000003,n01\n"
                 "ILSVRC2012_val_00000001,n02\nILSVRC2012_val_00000002,n01\n") == expected);
  CHECK(v.opened("img,category_id\nILSVRC2012_val_00000003.JPEG,n01\n"
                 "ILSVRC2012_val_00000001.JPEG,n02\nILSVRC2012_val_00000002.JPEG,n01\n") ==
        expected);
  CHECK(v.opened("7\n9\n9\n9\n", "n02 7 kit_fox\nn01 9 setter\nn00 8 none\n") == expected);
}

TEST_CASE("in tables, names of classes may contain blanks and numbers") {
  TempFolder t;
  for (const char* name : {"1", "2", "3"}) t.write("images/" + std::string(name) + ".jpg", "x");
  OpenOptions options;
  options.labels = t / "labels.csv";
  for (const char* table :
       {"1.jpg,golden retriever\n2.jpg,golden eagle\n3.jpg,Boeing 747\n",
        "1.jpg\tgolden retriever\n2.jpg\tgolden eagle\n3.jpg\tBoeing 747\n",
        "filename,label\n1.jpg, \"golden retriever\" \n2.jpg,golden eagle\n3.jpg,Boeing 747\n"}) {
    t.write("labels.csv", table);
    CHECK(open_dataset(t / "images", options)->classes() ==
          Texts{"Boeing 747", "golden eagle", "golden retriever"});
  }
  t.write("labels.csv", "1.jpg\t\tcrane, bird\n2.jpg,\t\"crane, bird\"\n3.jpg cat,tabby\n");
  CHECK(open_dataset(t / "images", options)->classes() == Texts{"cat", "crane, bird"});
  t.write("labels.csv", "1.jpg,,x\n2.jpg,cat\n3.jpg,cat\n");
  CHECK_THROWS_WITH(open_dataset(t / "images", options), Contains("line 1"));
}

TEST_CASE("a list that begins like compressed data is read as text") {
  TempFolder t;
  t.write("images/80_0.jpg", "x");
  t.write("labels.txt", "80_0.jpg airplane\n");
  OpenOptions options;
  options.labels = t / "labels.txt";
  CHECK(open_dataset(t / "images", options)->classes() == Texts{"airplane"});
}

TEST_CASE("labels are indices into the training set's classes") {
  Validation v;
  v.options.classes = {"n00", "n01", "n02"};
  const Texts expected = {"1 n01 2", "1 n01 3", "2 n02 1"};
  const std::string base = "ILSVRC2012_val_0000000";
  CHECK(v.opened(base + "1 n02\n" + base + "2 n01\n" + base + "3 n01\n") == expected);
  CHECK(v.opened(base + "1 2\n" + base + "2 1\n" + base + "3 1\n") == expected);
  CHECK_THAT(v.refused(base + "1 3\n" + base + "2 1\n" + base + "3 1\n"),
             Contains("the class 3 of " + base + "1") && Contains("not below 3"));
  CHECK_THAT(v.refused(base + "1 n09\n" + base + "2 n01\n" + base + "3 n01\n"),
             Contains("class 'n09'") && Contains("training set does not have"));
}

TEST_CASE("incomplete labels are refused, and the error states what is missing") {
  Validation v;
  const std::string base = "ILSVRC2012_val_0000000";
  CHECK_THAT(v.refused("7\n9\n9\n"), Contains("--val-synsets FILE") && Contains("meta.mat"));
  CHECK_THAT(v.refused("7\n9\n", "n02 7\nn01 9\n"),
             Contains("no class for the image") && Contains(base + "3"));
  CHECK_THAT(v.refused("7\n5\n7\n", "n02 7\nn01 9\n"), Contains("line 2") && Contains("number 5"));
  CHECK_THAT(v.refused("7\n9\n9\n", "n02 7\nn01 kit\n"), Contains("synsets line 2"));
  CHECK_THAT(v.refused("7\n9\n9\n", "n02 7\nn01 7\n"), Contains("to another class"));
  CHECK_THAT(v.refused(base + "1 a\n" + base + "2 b\n"), Contains("no class for the image"));
  CHECK_THAT(v.refused(base + "1 a\n" + base + "1 b\n"), Contains("line 2"));
  CHECK_THAT(v.refused(base + "1\n"), Contains("its class"));
  CHECK_THAT(v.refused("\n"), Contains("is empty"));
  CHECK_THAT(v.refused(base + "1 a\n", "n02 7\n"), Contains("--val-synsets cannot be used"));
  v.options.labels = v.folder / "gone";
  CHECK_THAT(message_of(v.folder / "val.tar", v.options), Contains("cannot read the label file"));
}

TEST_CASE("the devkit's numbers may come from a MATLAB file such as its meta.mat", "[slow]") {
  for (const char* name : {"records/meta.mat", "records/meta_plain.mat"}) {
    INFO(name);
    const std::string path = std::string(SHOAL_SOURCE_DIR "/tests/golden/") + name;
    const auto names = read_synsets(path);
    CHECK(names ==
          std::map<int64_t, std::string>{{1, "n02119789"}, {2, "n02100735"}, {300, "n01"}});
    const Bytes whole = read_golden(name);
    const TempFolder t;
    for (size_t cut = 128; cut < whole.size(); ++cut) {
      t.write("cut.mat", Bytes(whole.begin(), whole.begin() + static_cast<int64_t>(cut)));
      const std::string message = refused_synsets(t / "cut.mat", names);
      // A cut within the last 8 bytes may go unnoticed: zlib's checksum is not checked.
      if (cut + 8 < whole.size()) CHECK_THAT(message, Contains("cut.mat"));
    }
  }
}

TEST_CASE("labels for images that have classes are refused") {
  Validation v;
  v.folder.write("labels", "a b\n");
  v.options.labels = v.folder / "labels";
  v.folder.write("folder/cat/1.jpg", "x");
  v.folder.write("cat.tar", make_tar({{"cat/1.jpg", "x"}}));
  for (const std::string& source :
       {v.folder / "folder", v.folder / "cat.tar", std::string("synthetic:2")})
    CHECK_THAT(message_of(source, v.options), Contains("remove --val-labels"));
}
