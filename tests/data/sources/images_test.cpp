#include "data/sources/images.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <stdexcept>

#include "data/errors.h"
#include "data/pack/writer.h"
#include "tests/data/sources/support.h"
#include "tests/support/files.h"

using namespace shoal::data;
using Catch::Contains;
using shoal::test::write_text;
using Texts = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

struct Seen {
  Texts names, contents, warnings;
};

Seen seen(const Texts& sources) {
  Seen result;
  OpenOptions options;
  options.warning = [&](const std::string& text) { result.warnings.push_back(text); };
  const auto data = open_images(sources, options);
  for (int64_t i = 0; i < data->size(); ++i) {
    result.names.push_back(data->name(i));
    result.contents.push_back(content(*data, i));
  }
  return result;
}

Texts jpegs(const std::vector<int64_t>& numbers) {
  Texts list;
  for (const int64_t number : numbers) list.push_back(jpeg_text(number));
  return list;
}

struct Fixture {
  shoal::test::TemporaryDirectory directory;
  std::string at(const std::string& name) const { return (directory.path() / name).string(); }
};

}  // namespace

TEST_CASE("images come from files, folders, tars and packed sets in the given order") {
  const Fixture f;
  write_text(f.at("one.jpg"), jpeg_text(1));
  write_text(f.at("folder/b/2.jpg"), jpeg_text(2));
  write_text(f.at("folder/a.jpg"), jpeg_text(3));
  write_text(f.at("flat.tar"), make_tar({{"y.jpg", jpeg_text(4)}, {"x.jpg", jpeg_text(5)}}));
  write_text(f.at("classes/cat/6.jpg"), jpeg_text(6));
  write_text(f.at("classes/dog/7.jpg"), jpeg_text(7));
  write_pack(*open_dataset(f.at("classes")), f.at("set.pack"), {});
  const Seen all = seen({f.at("one.jpg"), f.at("folder"), f.at("flat.tar"), f.at("set.pack")});
  CHECK(all.contents == jpegs({1, 3, 2, 4, 5, 6, 7}));
  CHECK(all.names[0] == f.at("one.jpg"));
  CHECK(all.names[2] == f.at("folder/b/2.jpg"));
  CHECK(all.names[3] == f.at("flat.tar") + ":y.jpg");
  CHECK(all.warnings.empty());
}

TEST_CASE("a folder may contain sets among its images, and a pattern names several files") {
  const Fixture f;
  write_text(f.at("all/a.jpg"), jpeg_text(1));
  write_text(f.at("all/b.tar"), make_tar({{"x.jpg", jpeg_text(2)}}));
  write_text(f.at("all/c.tar"), make_tar({{"x.jpg", jpeg_text(3)}}));
  write_text(f.at("all/d.rec"), golden_record_bytes("several.rec"));
  CHECK(seen({f.at("all")}).contents.size() > 3);
  CHECK(seen({f.at("all/{b,c}.tar")}).contents == jpegs({2, 3}));
  CHECK(seen({f.at("all/*.jpg"), f.at("all/c*")}).contents == jpegs({1, 3}));
}

TEST_CASE("zips among the images of a folder are read, but not documents that are zips") {
  const Fixture f;
  const Members members = {{"b.jpg", jpeg_text(2)}, {"sub/a.jpg", jpeg_text(3)}};
  write_text(f.at("all/a.jpg"), jpeg_text(1));
  write_text(f.at("all/b.zip"), make_zip(members, true));
  write_text(f.at("all/c.docx"), make_zip(members));
  const Seen all = seen({f.at("all")});
  CHECK(all.contents == jpegs({1, 2, 3}));
  REQUIRE(all.warnings.size() == 1);
  CHECK_THAT(all.warnings[0], Contains("c.docx"));
  CHECK(seen({f.at("all/b.zip")}).names.back() == f.at("all/b.zip") + ":sub/a.jpg");
}

TEST_CASE("links to folders are followed, except those that lead back") {
  const Fixture f;
  write_text(f.at("set/a/1.jpg"), jpeg_text(1));
  write_text(f.at("set/b/2.jpg"), jpeg_text(2));
  fs::create_directory_symlink("../b", f.at("set/a/link"));
  fs::create_directory_symlink("../a", f.at("set/b/link"));
  fs::create_directory_symlink("..", f.at("set/a/up"));
  fs::create_directory_symlink("../..", f.at("set/b/above"));
  const Seen all = seen({f.at("set")});
  CHECK(all.names == Texts{f.at("set/a/1.jpg"), f.at("set/a/link/2.jpg"), f.at("set/b/2.jpg"),
                           f.at("set/b/link/1.jpg")});
}

TEST_CASE("labels are not needed, and invalid ones are ignored") {
  const Fixture f;
  write_text(f.at("captions.tar"), make_tar({{"1.jpg", jpeg_text(1)},
                                             {"1.txt", "a cat\nthat looks at a dog"},
                                             {"2.jpg", jpeg_text(2)}}));
  write_text(f.at("mixed.tar"), make_tar({{"cat/1.jpg", jpeg_text(1)}, {"2.jpg", jpeg_text(2)}}));
  for (const char* name : {"captions.tar", "mixed.tar"}) {
    INFO(name);
    CHECK_THROWS(open_dataset(f.at(name)));
    const Seen found = seen({f.at(name)});
    CHECK(found.contents == jpegs({1, 2}));
    CHECK(found.warnings.empty());
  }
  CHECK_THROWS(open_dataset(golden_record("several.rec")));
  CHECK(seen({golden_record("several.rec")}).contents == Texts{"content"});  // without its labels

  const std::string records = golden_record("imagenet.tfrecord");
  OpenOptions other;
  other.tfrecord_keys = "label=none,class=none";
  CHECK_THROWS(open_dataset(records, other));
  CHECK(open_images({records}, other)->size() == open_dataset(records)->size());

  write_text(f.at("list.json"), "{\"source-ref\": \"s3://bucket/1.jpg\"}\n");
  write_text(f.at("1.jpg"), jpeg_text(1));
  CHECK_THROWS(open_dataset(f.at("list.json")));
  CHECK(seen({f.at("list.json")}).contents == jpegs({1}));
}

TEST_CASE("files of a folder that are not images are left out and reported once") {
  const Fixture f;
  write_text(f.at("x/a.jpg"), jpeg_text(1));
  write_text(f.at("x/README.txt"), "our cats");
  write_text(f.at("x/.hidden"), "");
  write_text(f.at("y/b.jpg"), "no image");
  write_text(f.at("y/list.csv"), "a,b");
  const Seen found = seen({f.at("x"), f.at("y")});
  CHECK(found.contents == Texts{jpeg_text(1), "no image"});  // damaged images are kept
  REQUIRE(found.warnings.size() == 1);
  CHECK_THAT(found.warnings[0], Contains("left out 2 files") && Contains("README.txt") &&
                                    Contains("list.csv") && Contains("1 hidden file"));
  // A file that the user names is kept, even without the extension of an image.
  CHECK(seen({f.at("x/README.txt")}).contents == Texts{"our cats"});
}

TEST_CASE("a source without images is an error; a missing file is reported by read()") {
  const Fixture f;
  write_text(f.at("x/README.txt"), "our cats");
  CHECK_THROWS_WITH(open_images({f.at("x")}, {}), Contains(f.at("x") + " has no image"));
  CHECK_THROWS_WITH(open_images({f.at("*.jpg")}, {}), Contains("*.jpg"));
  CHECK_THROWS_WITH(open_images({"pipe:" + f.at("x")}, {}), Contains("is a pipe"));
  const auto missing = open_images({f.at("none.jpg")}, {});
  std::vector<uint8_t> bytes;
  REQUIRE(missing->size() == 1);
  CHECK_THROWS_WITH(missing->read(0, bytes), "the file does not exist");
}

TEST_CASE("a list gives images, folders and sets in its order, but no patterns") {
  const Fixture f;
  const std::string image = f.at("list/[odd].jpg"), other = f.at("list/b.jpg");
  write_text(image, jpeg_text(1));
  write_text(other, jpeg_text(2));
  OpenOptions options;
  const auto data =
      open_images({other, "-"}, options, {image, "", other + "\r", f.at("list/*.jpg")});
  REQUIRE(data->size() == 4);
  CHECK(data->name(0) == other);
  CHECK(data->name(1) == image);
  CHECK(data->name(2) == other);
  CHECK(content(*data, 1) == jpeg_text(1));
  const auto refusal = [&](const std::vector<std::string>& lines) -> std::string {
    try {
      open_images({"-"}, options, lines);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  CHECK_THAT(refusal({other, "pipe:x"}), Contains("standard input line 2") && Contains("pipe"));
  CHECK_THAT(refusal({"", std::string("a\0b", 3)}), Contains("line 2") && Contains("zero byte"));
  CHECK_THAT(refusal({"", "\r"}), Contains("standard input names no image"));
}

TEST_CASE("every image that cannot be read is damaged") {
  const Fixture f;
  const std::string folder = f.at("vanishing/a.tar");
  write_text(folder, make_tar({{"x.jpg", jpeg_text(1)}}));
  const auto data = open_images({folder, f.at("none.jpg")}, {});
  fs::remove(folder);
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < 2; ++i) CHECK_THROWS_AS(data->read(i, bytes), DamagedImage);
}
