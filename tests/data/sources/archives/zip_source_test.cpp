#include "data/sources/archives/zip_source.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "data/pack/writer.h"
#include "data/sources/location.h"
#include "tests/data/sources/archives/zip_support.h"
#include "tests/data/sources/support.h"

using namespace shoal::data;
using Catch::Contains;

namespace {

using Lines = std::vector<std::string>;

// Two classes with subfolders, as class folders and as zips of every layout.
struct ZipShapes {
  ZipShapes() {
    Members all, around, cats, dogs;
    int64_t number = 0;
    for (const char* name : {"cat/b.jpg", "cat/a.jpg", "cat/sub/z.jpg", "cat/sub-1/y.jpg",
                             "dog/2.jpg", "dog/10.jpg", "dog/.hidden"}) {
      const std::string content = jpeg_text(number++);
      folder.write(std::string("folder/") + name, content);
      all.emplace_back(name, content);
      around.emplace_back(std::string("./a/train/") + name, content);
      (name[0] == 'c' ? cats : dogs).emplace_back(name + 4, content);
    }
    all.insert(all.begin(), {"cat/", ""});
    all.emplace_back("__MACOSX/cat/._a.jpg", "resources");
    folder.write("stored.zip", make_zip(all));
    folder.write("deflated.zip", make_zip(all, true));
    folder.write("around.zip", make_zip(around, true));
    folder.write("classes/dog.zip", make_zip(dogs, true));
    folder.write("classes/cat.zip", make_zip(cats));
  }
  TempFolder folder;
};

Lines keys_of(const Dataset& data) {
  Lines keys;
  for (int64_t i = 0; i < data.size(); ++i) keys.push_back(data.key(i));
  return keys;
}

std::string golden_zip(const std::string& name) {
  return SHOAL_SOURCE_DIR "/tests/golden/zips/" + name + ".zip";
}

}  // namespace

TEST_CASE("a split is opened from an archive that contains train/ and val/") {
  const auto image = [](int64_t number) { return jpeg_text(number); };
  for (const std::string top : {"", "photos/"}) {
    const Members all = {{top + "train/cat/1.jpg", image(1)},
                         {top + "train/dog/2.jpg", image(2)},
                         {top + "train/dog/val/3.jpg", image(3)},
                         {top + "test/cat/4.jpg", image(4)},
                         {top + "validation/dog/5.jpg", image(5)}};
    TempFolder t;
    t.write("all.zip", make_zip(all));
    t.write("all.tar", make_tar(all));
    for (const std::string name : {"all.zip", "all.tar"}) {
      INFO(top << " " << name);
      const auto opened = [&](const std::string& split) {
        return open_dataset(find_split(t / name, split).value());
      };
      const auto train = opened("train"), val = opened("val");
      CHECK(train->classes() == Lines{"cat", "dog"});
      CHECK(train->size() == 3);
      CHECK(val->classes() == Lines{"dog"});
      REQUIRE(val->size() == 1);
      CHECK(val->name(0) == t / name + ":" + top + "validation/dog/5.jpg");
      Bytes bytes;
      val->read(0, bytes);
      CHECK(std::string(bytes.begin(), bytes.end()) == image(5));
    }
    t.write("single.zip", make_zip({{"cat/1.jpg", image(1)}, {"dog/2.jpg", image(2)}}));
    CHECK_THROWS_WITH(open_dataset(find_split(t / "single.zip", "val").value()),
                      Contains("single.zip") && Contains("no folder val/"));
    t.write("text.zip", "x");
    CHECK_FALSE(find_split(t / "text.zip", "train"));
  }
}

TEST_CASE("validation images that --val-split leaves unused are reported") {
  TempFolder t;
  const Members train = {{"train/cat/1.jpg", jpeg_text(1)}, {"test/cat/1.jpg", jpeg_text(2)}};
  Members both = train;
  both.emplace_back("validation/cat/2.jpg", jpeg_text(3));
  t.write("train.zip", make_zip(train));
  t.write("both.zip", make_zip(both));
  t.write("both.tar", make_tar(both));
  const auto warnings = [&](const std::string& name, const std::string& split, bool unused) {
    OpenOptions options;
    options.val_unused = unused;
    std::string text;
    options.warning = [&](const std::string& warning) { text += warning; };
    CHECK(open_dataset(find_split(t / name, split).value(), options)->size() == 1);
    return text;
  };
  for (const char* name : {"both.zip", "both.tar"}) {
    CHECK_THAT(warnings(name, "train", true), Contains(name) && Contains("--val-split"));
    CHECK(warnings(name, "train", false).empty());
  }
  CHECK(warnings("train.zip", "train", true).empty());
}

TEST_CASE("only the folder of a split counts, not a class or a part with its name") {
  TempFolder t;
  const auto opened = [&](const std::string& name, const Members& members,
                          const std::string& split) {
    t.write(name, make_zip(members));
    return open_dataset(find_split(t / name, split).value());
  };
  const std::string image = jpeg_text(1);
  const Members class_val = {{"train/cat/1.jpg", image}, {"train/val/2.jpg", image}};
  CHECK_THROWS_WITH(opened("class.zip", class_val, "val"), Contains("no folder val/"));
  const Members parts = {{"a/train/cat/1.jpg", image}, {"b/train/cat/2.jpg", image}};
  CHECK_THROWS_WITH(opened("parts.zip", parts, "train"), Contains("no folder train/"));
  const Members loose = {{"logo.jpg", image}, {"photos/train/cat/1.jpg", image}};
  CHECK(opened("loose.zip", loose, "train")->size() == 1);
  const Members both = {{"val/cat/1.jpg", image}, {"validation/dog/2.jpg", image}};
  CHECK(opened("both.zip", both, "val")->classes() == Lines{"cat"});
}

TEST_CASE("zips of every layout have the same images in the same order as class folders") {
  const ZipShapes shapes;
  const auto expected = open_dataset(shapes.folder / "folder");
  for (const char* name : {"stored.zip", "deflated.zip", "around.zip", "classes", "classes/*.zip",
                           "classes/{cat,dog}.zip"}) {
    INFO(name);
    const auto data = open_dataset(shapes.folder / name);
    CHECK(data->classes() == Lines{"cat", "dog"});
    CHECK(described(*data) == described(*expected));
    CHECK(keys_of(*data) == keys_of(*expected));
    CHECK(epoch_hash(data) == epoch_hash(expected));
  }
  const auto zip = open_dataset(shapes.folder / "deflated.zip");
  CHECK(zip->name(0) == shapes.folder / "deflated.zip:cat/a.jpg");
  CHECK(zip->encoded_bytes(0) == static_cast<int64_t>(jpeg_text(1).size()));
  CHECK(zip->file_place(0)->offset > zip->file_place(1)->offset);  // b.jpg comes first in the file
  write_pack(*zip, shapes.folder / "set.pack", {});
  CHECK(described(*open_dataset(shapes.folder / "set.pack")) == described(*expected));
}

TEST_CASE("zips of Python and Info-ZIP are read") {
  Lines expected;
  for (const std::string name : {"cat/1.jpg", "cat/2.jpg", "dog/1.jpg", "dog/", "fox/\u00fc.jpg"}) {
    const std::string whole = name == "dog/" ? name + std::string(180, 'n') + ".jpg" : name;
    std::string line = (whole[0] == 'c'   ? "0 cat "
                        : whole[0] == 'd' ? "1 dog "
                                          : "2 fox ") +
                       whole.substr(4) + " ";
    for (int i = 0; i < 20; ++i) line += "content of " + whole;
    expected.push_back(line);
  }
  for (const char* name : {"python-stored", "python-deflated", "python-streamed", "python-zip64",
                           "info-stored", "info-deflated", "info-folders", "info-streamed"}) {
    INFO(name);
    CHECK(described(*open_dataset(golden_zip(name))) == expected);
  }
}

TEST_CASE("entries that cannot be read in place are refused with advice") {
  const auto refused = [](const char* name) { return message_of(golden_zip(name)); };
  CHECK_THAT(refused("info-encrypted"),
             Contains("info-encrypted.zip:cat/1.jpg is encrypted") && Contains("unpack"));
  CHECK_THAT(refused("info-symbolic"), Contains("cat/symbolic.jpg is a symbolic link"));
  CHECK_THAT(refused("python-bzip2"), Contains("cat/1.jpg") && Contains("bzip2"));
  CHECK_THAT(refused("python-lzma"), Contains("LZMA") && Contains("zip -0"));
  CHECK_THAT(message_of_zip(
                 with_zip_row(two_images_zip(), "dog/2.jpg", zip_row_field::kMethod, half_word(9))),
             Contains("dog/2.jpg") && Contains("Deflate64"));
  CHECK_THAT(refused("info-last-part"), Contains("part of a split zip") && Contains("zip -s 0"));
  CHECK_THAT(message_of_zip(make_zip({{"train.zip", two_images_zip()}, {"labels.csv", "1"}})),
             Contains("train.zip") && Contains("unpack"));
  CHECK_THAT(message_of_zip(make_zip({})), Contains("contains no image"));
  // An encrypted entry is no error if it is hidden or lacks the extension of an image.
  std::string hidden = make_zip({{"cat/1.jpg", "a"}, {"cat/.2.jpg", "b"}});
  hidden = with_zip_row(hidden, "cat/.2.jpg", zip_row_field::kFlags, half_word(1));
  CHECK(damages_of_zip(hidden) == Lines{""});
  const std::string other = make_zip({{"cat/1.jpg", "a"}, {"cat/notes", "b"}});
  CHECK(damages_of_zip(with_zip_row(other, "cat/notes", zip_row_field::kFlags, half_word(1))) ==
        Lines{""});
  // A damaged file without an extension is listed, because it might be an image.
  CHECK_THAT(damages_of_zip(with_zip_row(other, "cat/notes", zip_row_field::kCrc, word(1)))[1],
             Contains("checksum"));
}

TEST_CASE("names in zips are read as unpacking would read them") {
  const TempFolder t;
  t.write("a.zip", make_zip({{"./cat//1.jpg", "a"},
                             {"/dog/2.jpg", "b"},
                             {"../dog/./3.jpg", "c"},
                             {std::string("dog/4.jpg\0.txt", 14), "d"},
                             {"dog/../cat/5.jpg", "left out"},
                             {"caf\u00e9/6.jpg", "e"},
                             {"cat/7\\8.jpg", "f"}}));
  const Lines expected = {"0 caf\u00e9 6.jpg e", "1 cat 1.jpg a", "1 cat 7\\8.jpg f",
                          "2 dog 2.jpg b",       "2 dog 3.jpg c", "2 dog 4.jpg d"};
  CHECK(described(*open_dataset(t / "a.zip")) == expected);
  // Zips made on Windows may separate folders by backslashes.
  t.write("windows.zip", make_zip({{"cat\\", ""}, {"cat\\1.jpg", "a"}, {"dog\\sub\\2.jpg", "b"}}));
  CHECK(described(*open_dataset(t / "windows.zip")) == Lines{"0 cat 1.jpg a", "1 dog 2.jpg b"});
  std::string unix = make_zip({{"cat\\1.jpg", "a"}});
  unix = with_zip_row(unix, "cat\\1.jpg", zip_row_field::kHost, "\3");
  CHECK_THAT(message_of_zip(unix), Contains("images without classes"));
}

TEST_CASE("files of a zip that are not images are left out and counted, by name or content") {
  const std::string photo = jpeg_text(3), text(100'000, 'x');
  for (const bool deflated : {false, true}) {
    const TempFolder t;
    t.write("a.zip", make_zip({{"cat/photo", photo},
                               {"cat/README.txt", text},
                               {"cat/empty", ""},
                               {"cat/.DS_Store", "x"},
                               {"__MACOSX/cat/photo", "x"},
                               {"dog/1.jpg", ""}},
                              deflated));
    std::string warnings;
    OpenOptions options;
    options.warning = [&](const std::string& warning) { warnings += warning; };
    CHECK(open_dataset(t / "a.zip", options)->size() == 2);
    CHECK_THAT(warnings, Contains("2 files that are not images") && Contains("cat/README.txt") &&
                             Contains("2 hidden files"));
    const auto data = open_dataset(t / "a.zip");
    CHECK(content(*data, 0) == photo);
    CHECK(content(*data, 1).empty());
  }
}

TEST_CASE("the classes of a zip without folders come from a file of labels") {
  const TempFolder t;
  t.write("val.zip", make_zip({{"b.jpg", "1"}, {"a.jpg", "2"}, {"c.jpg", "3"}}, true));
  t.write("labels.txt", std::string("a.jpg dog\nb.jpg cat\nc.jpg dog\n"));
  OpenOptions options;
  options.labels = t / "labels.txt";
  CHECK(described(*open_dataset(t / "val.zip", options)) ==
        Lines{"0 cat b.jpg 1", "1 dog a.jpg 2", "1 dog c.jpg 3"});
  CHECK_THAT(message_of(t / "val.zip"), Contains("--val-labels"));
  t.write("classes.zip", two_images_zip());
  CHECK_THAT(message_of(t / "classes.zip", options), Contains("contains its own classes"));
  options = {};
  options.unlabeled = true;
  CHECK(described(*open_dataset(t / "val.zip", options)) ==
        Lines{"0  b.jpg 1", "0  a.jpg 2", "0  c.jpg 3"});
  t.write("mixed/cat.zip", make_zip({{"1.jpg", "1"}}));
  t.write("mixed/dog.zip", make_zip({{"dog/1.jpg", "1"}}));
  CHECK_THAT(message_of(t / "mixed"), Contains("dog.zip has class folders"));
  t.write("mixed/dog.zip", make_zip({{"notes.pdf", "1"}}));
  CHECK_THAT(message_of(t / "mixed"), Contains("dog.zip has no image"));
}

TEST_CASE("archives above 4 GiB and with more than 65,535 entries are read") {
  const TempFolder t;
  const uint64_t far = (uint64_t{5} << 30) + 7;
  const std::string first = zip_entry("cat/1.jpg", "near"),
                    last = zip_entry("dog/2.jpg", "far", true);
  const std::string rows =
      zip_row("cat/1.jpg", "near", 0, false, true) + zip_row("dog/2.jpg", "far", far, true, true);
  std::ofstream file(t / "large.zip", std::ios::binary);
  file << first;
  file.seekp(static_cast<std::streamoff>(far));  // leaves a hole, which needs no disk space
  file << last << rows << zip_end(2, rows.size(), far + last.size(), true);
  file.close();
  CHECK(described(*open_dataset(t / "large.zip")) == Lines{"0 cat 1.jpg near", "1 dog 2.jpg far"});

  constexpr size_t kCount = 70'000;
  std::string entries, directory;
  for (size_t i = 0; i < kCount; ++i) {
    const std::string name = "cat/" + std::to_string(100'000 + i) + ".jpg";
    directory += zip_row(name, std::to_string(i), entries.size());
    entries += zip_entry(name, std::to_string(i));
  }
  // Without 64-bit numbers, the zip states the number of entries modulo 65536.
  for (const bool wide : {true, false}) {
    t.write("many.zip",
            entries + directory + zip_end(kCount, directory.size(), entries.size(), wide));
    const auto data = open_dataset(t / "many.zip");
    REQUIRE(data->size() == kCount);
    CHECK(content(*data, 0) == "0");
    CHECK(content(*data, kCount - 1) == std::to_string(kCount - 1));
  }
}

TEST_CASE("several threads read a zip, also front to back") {
  const ZipShapes shapes;
  const std::string path = shapes.folder / "deflated.zip";
  const Lines expected = described(*open_dataset(shapes.folder / "folder"));
  OpenOptions forward;
  forward.reads = Reads::forward;
  for (const OpenOptions& options : {OpenOptions{}, forward}) {
    const auto data = open_dataset(path, options);
    std::atomic<int> same = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        data->will_read(0, data->size());
        same += described(*data) == expected ? 1 : 0;
      });
    threads.clear();
    CHECK(same == 4);
  }
}

TEST_CASE("the directory of a zip is read once, until the zip changes") {
  const TempFolder t, cache;
  t.write("a.zip", make_zip({{"cat/1.jpg", "old"}, {"dog", "not an image"}}, true));
  age_file(t / "a.zip");
  OpenOptions options;
  options.cache_dir = cache.path();
  int scanned = 0;
  options.progress = [&](int64_t) { ++scanned; };
  for (int i = 0; i < 2; ++i)
    CHECK(described(*open_dataset(t / "a.zip", options)) == Lines{"0 cat 1.jpg old"});
  CHECK(scanned == 1);
  t.write("a.zip", make_zip({{"cat/1.jpg", "new"}, {"cat/2.jpg", "more"}}, true));
  CHECK(described(*open_dataset(t / "a.zip", options)) ==
        Lines{"0 cat 1.jpg new", "0 cat 2.jpg more"});
}

TEST_CASE("only files named .zip are read as zips of images") {
  const TempFolder t;
  t.write("report.docx", two_images_zip());
  CHECK_THAT(message_of(t / "report.docx"), Contains("unknown format") && Contains(".zip"));
  t.write("page.zip", std::string(100'000, '<'));
  CHECK_THAT(message_of(t / "page.zip"), Contains("unknown format"));
  t.write("tars/0.tar", make_tar({{"cat/1.jpg", "a"}}));
  t.write("tars/report.docx", two_images_zip());
  CHECK(open_dataset(t / "tars")->size() == 1);
}

TEST_CASE("a zip beside images or records is left out with a warning") {
  const TempFolder t;
  std::string warnings;
  OpenOptions options;
  options.warning = [&](const std::string& warning) { warnings += warning; };
  t.write("tars/1.tar", make_tar({{"cat/1.jpg", "a"}}));
  t.write("tars/0.zip", two_images_zip());
  CHECK(open_dataset(t / "tars", options)->size() == 1);
  CHECK_THAT(warnings, Contains("0.zip"));
  t.write("val/1.jpg", "a");
  t.write("val/annotations.zip", two_images_zip());
  t.write("labels.txt", "1.jpg cat\n");
  options.labels = t / "labels.txt";
  options.classes = {"cat", "dog"};
  CHECK(open_dataset(t / "val", options)->size() == 1);
}
