#include "data/sources/location.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "tests/data/sources/support.h"
#include "tests/data/support.h"

using namespace shoal::data;
using Catch::Contains;
using Kind = Location::Kind;

TEST_CASE("the kind of a source follows from its prefix, and a path must exist") {
  const TempFolder t;
  CHECK(resolve("synthetic:8").kind == Kind::synthetic);
  CHECK(resolve("pipe:" + t / "p").is_pipe());
  CHECK((resolve("folder:nowhere").kind == Kind::folder && resolve("folder:nowhere").exists));
  const Location path = resolve(t.path());
  CHECK((path.kind == Kind::path && path.exists && path.text == t.path()));
  CHECK_FALSE(resolve(t / "nowhere").exists);
  CHECK(resolve(t / "{a,b}.tar").exists);  // patterns are checked when they are opened
}

TEST_CASE("a path that cannot be examined does not exist") {
  CHECK_FALSE(resolve(std::string(300, 'x') + ".jpg").exists);
  CHECK_FALSE(resolve(std::string(300, 'x') + "*.jpg").kind == Kind::pipe);
  const TempFolder t;
  std::filesystem::create_symlink("loop", t / "loop");
  CHECK_FALSE(resolve(t / "loop").exists);
}

TEST_CASE("a split is found in a folder whose name looks like a pattern") {
  const TempFolder t;
  for (const char* name : {"set [v2]", "set {a,b}", "set*"}) {
    INFO(name);
    t.write(std::string(name) + "/train-00000", "x");
    const auto location = find_split(t / name, "train");
    REQUIRE(location);
    CHECK(location->exists);
    CHECK_THROWS_WITH(open_dataset(*location), Contains("train-00000"));
  }
}

TEST_CASE("a split is found under each of its names, folders first") {
  const TempFolder t;
  CHECK_FALSE(find_split(t.path(), "val"));
  const auto found = [&](const std::string& split = "val") {
    const auto location = find_split(t.path(), split);
    return location ? location->text.substr(t.path().size() + 1) : "";
  };
  // Each of these has precedence over those already written.
  for (const char* name :
       {"validation-00000", "val-00000", "val.tsv", "val.csv", "ILSVRC2012_img_val.tar", "val.zip",
        "val.rec", "val.tar", "val.pack", "val/cat/1.jpg"}) {
    t.write(name, "x");
    const std::string expected = name;
    if (expected.starts_with("validation")) CHECK(found() == "validation-*");
    if (expected == "val-00000") CHECK(found() == "val-*");
    if (expected == "val/cat/1.jpg") CHECK(found() == "val");
    if (std::filesystem::path(expected).has_extension() && !expected.ends_with(".jpg"))
      CHECK(found() == expected);
    CHECK(found("train").empty());
  }
}

TEST_CASE("validation images may be in validation/ or valid/, in folders and archives") {
  const TempFolder t;
  for (const std::string name : {"valid", "validation"}) {
    INFO(name);
    t.write(name + "/cat/1.jpg", jpeg_text(1));
    CHECK(find_split(t.path(), "val")->text == t / name);
    t.write("set.tar",
            make_tar({{"train/cat/2.jpg", jpeg_text(2)}, {name + "/cat/1.jpg", jpeg_text(1)}}));
    const auto images = open_dataset(find_split(t / "set.tar", "val").value());
    REQUIRE(images->size() == 1);
    CHECK(content(*images, 0) == jpeg_text(1));
  }
}

TEST_CASE("lists are the splits of their folder") {
  const TempFolder t;
  t.write("cats/1.jpg", "a");
  t.write("cats/2.jpg", "b");
  t.write("train.csv", "path,label\ncats/1.jpg,cat\n");
  t.write("val.tsv", "path\tlabel\ncats/2.jpg\tcat\n");
  for (const std::string split : {"train", "val"}) {
    const auto location = find_split(t.path(), split);
    REQUIRE(location);
    CHECK(location->kind == Kind::csv_list);
    CHECK(open_dataset(*location)->name(0) == t / (split == "train" ? "cats/1.jpg" : "cats/2.jpg"));
    CHECK_THAT(split_places(split), Contains(split + ".csv"));
  }
}

TEST_CASE("CIFAR's files, as downloaded, are the splits of their folder") {
  const TempFolder t;
  const std::string pixels(3072, 'x'), ten = '\3' + pixels, hundred = std::string("\1\5") + pixels;
  for (const char* name : {"train.bin", "test.bin", "test_batch.bin", "data_batch_1.bin"})
    t.write(std::string("others/") + name, "not of CIFAR");
  for (const char* split : {"train", "val"}) CHECK_FALSE(find_split(t / "others", split));
  for (const char* set : {"set [10]", "set [100]"}) CHECK_FALSE(find_split(t / set, "train"));
  t.write("set [10]/data_batch_1.bin", ten + ten);
  t.write("set [10]/data_batch_2.bin", ten);
  t.write("set [10]/test_batch.bin", ten);
  t.write("set [100]/train.bin", hundred + hundred + hundred);
  t.write("set [100]/test.bin", hundred);
  for (const char* set : {"set [10]", "set [100]"}) {
    INFO(set);
    const auto train = find_split(t / set, "train"), val = find_split(t / set, "val");
    REQUIRE((train && val));
    CHECK(open_dataset(*train)->size() == 3);
    CHECK(open_dataset(*val)->size() == 1);
    CHECK_THAT(message_of(t / set), Contains("--data " + t / set));
  }
}

TEST_CASE("TFRecords are recognized in a file, a pattern and a folder; a pipe is no dataset") {
  const std::string file = golden_record("imagenet.tfrecord");
  CHECK(holds_tf_records(resolve(file)));
  CHECK_FALSE(holds_tf_records(resolve(golden_record("plain.rec"))));
  CHECK_FALSE(holds_tf_records(resolve("synthetic:8")));
  const TempFolder t;
  t.write("a.tfrecord", read_golden("records/imagenet.tfrecord"));
  CHECK(holds_tf_records(resolve(t.path())));
  CHECK(holds_tf_records(resolve(t / "*.tfrecord")));
  CHECK_THROWS_WITH(open_dataset("pipe:x"), Contains("pipe:x"));
}

TEST_CASE("a named pipe is refused without waiting for a writer") {
  const TempFolder t;
  REQUIRE(::mkfifo((t / "train_0").c_str(), 0600) == 0);
  for (const char* source : {"train_0", "train_*", "{train}_0"})
    CHECK_THROWS_WITH(open_dataset(t / source), Contains("train_0") && Contains("pipe:PATH"));
}
