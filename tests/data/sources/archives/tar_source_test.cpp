#include "data/sources/archives/tar_source.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "data/container/open_files.h"
#include "data/loader/loader.h"
#include "data/pack/reader.h"
#include "data/pack/writer.h"
#include "tests/data/sources/support.h"

using namespace shoal::data;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

using Texts = std::vector<std::string>;

std::string text_of(const Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

// Two classes with subfolders, as class folders and as tars of every layout.
struct Shapes {
  Shapes() {
    for (const char* name : {"cat/b.jpg", "cat/a.jpg", "cat/sub/z.jpg", "cat/sub-1/y.jpg",
                             "dog/2.jpg", "dog/10.jpg", "dog/.hidden"}) {
      const std::string content = text_of(made_jpeg(number++));
      folder.write(std::string("folder/") + name, content);
      all.emplace_back(std::string("./") + name, content);
      around.emplace_back(std::string("train/") + name, content);
      (name[0] == 'c' ? cats : dogs).emplace_back(name + 4, content);
    }
    folder.write("whole.tar", make_tar(all));
    folder.write("around.tar", make_tar(around));
    folder.write("classes/dog.tar", make_tar(dogs));
    folder.write("classes/cat.tar", make_tar(cats));
    folder.write("nested.tar",
                 make_tar({{"dog.tar", make_tar(dogs)}, {"cat.tar", make_tar(cats)}}));
  }
  TempFolder folder;
  int64_t number = 0;
  Members all, around, cats, dogs;
};

}  // namespace

TEST_CASE("tars of every layout have the same images in the same order as class folders") {
  const Shapes shapes;
  const auto expected = open_dataset(shapes.folder / "folder");
  for (const char* name : {"whole.tar", "around.tar", "classes", "nested.tar", "classes/*.tar",
                           "classes/{cat,dog}.tar"}) {
    INFO(name);
    const auto data = open_dataset(shapes.folder / name);
    CHECK(data->classes() == Texts{"cat", "dog"});
    CHECK(described(*data) == described(*expected));
    CHECK(epoch_hash(data) == epoch_hash(expected));
  }
  CHECK(open_dataset(shapes.folder / "nested.tar")->name(0) ==
        shapes.folder / "nested.tar:cat.tar/a.jpg");
  CHECK(open_dataset(shapes.folder / "classes")->name(0) ==
        shapes.folder / "classes/cat.tar:a.jpg");
}

TEST_CASE("the last of several members with the same name is used, as in unpacking") {
  TempFolder t;
  t.write("a.tar", make_tar({{"cat/1.jpg", "old"}, {"dog/1.jpg", "dog"}, {"cat/1.jpg", "new"}}));
  CHECK(described(*open_dataset(t / "a.tar")) == Texts{"0 cat 1.jpg new", "1 dog 1.jpg dog"});
}

TEST_CASE("of images with the same name in several tars, only the last is read, with a warning") {
  TempFolder t;
  t.write("1.tar", make_tar({{"cat/0.jpg", "a"}, {"cat/1.jpg", "b"}, {"dog/0.jpg", "c"}}));
  t.write("2.tar", make_tar({{"cat/0.jpg", "d"}, {"dog/0.jpg", "e"}, {"dog/1.jpg", "f"}}));
  std::string warnings;
  OpenOptions options;
  options.warning = [&](const std::string& text) { warnings += text; };
  CHECK(described(*open_dataset(t / "{1,2}.tar", options)) ==
        Texts{"0 cat 0.jpg d", "0 cat 1.jpg b", "1 dog 0.jpg e", "1 dog 1.jpg f"});
  CHECK_THAT(warnings, Contains("left out 2 images") && Contains("cat/0.jpg"));
}

TEST_CASE("a hard link with another kind of name has the content of its target") {
  TempFolder t;
  const std::string image = text_of(made_jpeg(1));
  const std::string end(1024, '\0'), tar = make_tar({{"dog/x.jpg", image}, {"cat/z.jpg", "z"}});
  std::string link = tar_header("dog/y", "00000000000", '1');
  link.replace(157, 9, "dog/x.jpg");
  link.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : link) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  link.replace(148, 7, std::string(digits, 7));
  t.write("a.tar", tar.substr(0, tar.size() - end.size()) + link + end);
  CHECK(described(*open_dataset(t / "a.tar")) ==
        Texts{"0 cat z.jpg z", "1 dog x.jpg " + image, "1 dog y " + image});
}

TEST_CASE("names in tars may contain empty, . and .. folders") {
  TempFolder t;
  t.write("a.tar",
          make_tar({{"cat/./1.jpg", "a"}, {"./dog//2.jpg", "b"}, {"dog/./sub/./3.jpg", "c"}}));
  const Texts expected = {"0 cat 1.jpg a", "1 dog 2.jpg b", "1 dog 3.jpg c"};
  CHECK(described(*open_dataset(t / "a.tar")) == expected);
  t.write("a.tar", make_tar({{"../set/cat/1.jpg", "a"}, {"../set/dog/2.jpg", "b"}}));
  CHECK(described(*open_dataset(t / "a.tar")) == Texts{"0 cat 1.jpg a", "1 dog 2.jpg b"});
}

TEST_CASE("images beside the class folders are left out, as in folders") {
  TempFolder t;
  t.write("a.tar", make_tar({{"train/cat/1.jpg", "a"},
                             {"train/preview.jpg", "x"},
                             {"train/dog/2.jpg", "b"},
                             {"train/dog/sub/3.jpg", "c"}}));
  std::string warnings;
  OpenOptions options;
  options.warning = [&](const std::string& text) { warnings += text; };
  CHECK(described(*open_dataset(t / "a.tar", options)) ==
        Texts{"0 cat 1.jpg a", "1 dog 2.jpg b", "1 dog 3.jpg c"});
  CHECK_THAT(warnings, Contains("train/preview.jpg"));
  // Here, `train` is a class, so preview.jpg is one of its images, like those in its subfolders.
  options.classes = {"dog", "train"};
  CHECK(described(*open_dataset(t / "a.tar", options)).front() == "0 train preview.jpg x");
}

TEST_CASE("shards whose labels match no image are refused, not read as one class per tar") {
  const Members layouts[] = {
      {{"v1.0000.jpg", "a"}, {"v1.0000.json", "0"}, {"v1.0001.jpg", "b"}, {"v1.0001.json", "1"}},
      {{"0000.tif", "a"}, {"0000.txt", "0"}, {"0001.tif", "b"}, {"0001.txt", "1"}},
      {{"0.jpg", "a"}, {"1.jpg", "b"}, {"0.json", "0"}, {"1.json", "1"}}};
  for (const Members& members : layouts) {
    TempFolder t;
    for (const char* name : {"shards/0.tar", "shards/1.tar"}) t.write(name, make_tar(members));
    CHECK_THAT(message_of(t / "shards"),
               Contains("images without classes") && Contains("WebDataset"));
  }
}

TEST_CASE("unsupported tars are refused with advice") {
  TempFolder t;
  t.write("flat.tar", make_tar({{"1.jpg", "x"}, {"2.jpg", "y"}}));
  CHECK_THAT(message_of(t / "flat.tar"), Contains("flat.tar") && Contains("--val-labels FILE"));
  t.write("mixed.tar", make_tar({{"cat/1.jpg", "x"}, {"2.jpg", "y"}}));
  CHECK_THAT(message_of(t / "mixed.tar"), Contains("2.jpg outside of any class folder"));
  t.write("both.tar", make_tar({{"cat.tar", make_tar({{"1.jpg", "x"}})}, {"2.jpg", "y"}}));
  CHECK_THAT(message_of(t / "both.tar"), Contains("both tars and images"));
  const std::string shard = make_tar({{"0.jpg", "x"}, {"0.cls", "1"}});
  t.write("shards.tar", make_tar({{"s0.tar", shard}, {"s1.tar", shard}}));
  CHECK_THAT(message_of(t / "shards.tar"),
             Contains("s0.tar is a WebDataset shard inside a tar") && Contains("unpack"));
  t.write("empty.tar", make_tar({}));
  CHECK_THAT(message_of(t / "nested/none"), Contains("does not exist"));
  t.write("no-image.tar", make_tar({{"cat.tar", make_tar({})}}));
  CHECK_THAT(message_of(t / "no-image.tar"), Contains("cat.tar has no image"));
  t.write("classes/cat.tar", make_tar({{"1.jpg", "x"}}));
  t.write("classes/dog.tar", make_tar({{".hidden", "x"}}));
  CHECK_THAT(message_of(t / "classes"), Contains("dog.tar has no image"));
  t.write("classes/dog.tar", make_tar({{"dog/1.jpg", "x"}}));
  CHECK_THAT(message_of(t / "classes"), Contains("separate them"));
  t.write("images/1.jpg", made_jpeg(1));
  CHECK_THAT(message_of(t / "images"), Contains("<class>/<images>"));
  t.write("texts/1.txt", "nothing");
  CHECK_THAT(message_of(t / "texts"),
             Contains(".csv") && Contains("files in one of these formats: a tar"));
  CHECK_THAT(message_of(t / "texts/1.txt"),
             Contains("has an unknown format") && Contains("packed sets"));
  CHECK_THAT(message_of(t / "images/1.jpg"),
             Contains("is a single image") && Contains("folders of images"));
  CHECK_THAT(message_of(t / "*.tgz"), Contains("no file matches"));
  t.write("a.tar.zst", "\x28\xb5\x2f\xfd with zstd");
  CHECK_THAT(message_of(t / "a.tar.zst"),
             Contains("is compressed; unpack it: tar xf " + t / "a.tar.zst"));
  t.write("a.gz", "\x1f\x8b\x08 with gzip");
  CHECK_THAT(message_of(t / "a.gz"), Contains("is compressed; unpack it: gzip -d"));
  t.write("cifar.tar", make_tar({{"cifar/readme.html", "x"}, {"cifar/data_batch_1.bin", "x"}}));
  CHECK_THAT(message_of(t / "cifar.tar"),
             Contains("CIFAR (cifar/data_batch_1.bin)") && Contains("tar xf " + t / "cifar.tar"));
  t.write("lists/train.csv", "path,label\n");
  t.write("lists/val.csv", "path,label\n");
  CHECK_THAT(message_of(t / "lists"), Contains("list") && Contains(t / "lists/train.csv"));
  CHECK_THAT(message_of(t / "lists/*.csv"), Contains("a pattern cannot name lists"));
  CHECK_THAT(message_of(t / "{flat,gone}.tar"), Contains("gone.tar"));
}

TEST_CASE("the second opening uses the cache until a tar changes") {
  const Shapes shapes;
  const TempFolder cache;
  int scanned = 0;
  OpenOptions options;
  options.cache_dir = cache.path();
  options.progress = [&](int64_t) { ++scanned; };
  const auto open = [&] { return described(*open_dataset(shapes.folder / "classes", options)); };
  const Texts fresh = open();
  CHECK(scanned == 2);
  CHECK(fs::is_empty(cache.path()));  // tars that changed recently are not cached
  age_file(shapes.folder / "classes/cat.tar");
  age_file(shapes.folder / "classes/dog.tar");
  open();
  CHECK(scanned == 4);
  CHECK(open() == fresh);
  CHECK(scanned == 4);

  shapes.folder.write("classes/dog.tar", make_tar({{"only.jpg", "one"}}));
  age_file(shapes.folder / "classes/dog.tar");
  CHECK(open().back() == "1 dog only.jpg one");
  CHECK(scanned == 5);  // only the changed tar is scanned
  const std::string file = fs::directory_iterator(cache.path())->path().string();
  fs::resize_file(file, fs::file_size(file) - 9);
  CHECK(open().back() == "1 dog only.jpg one");
  CHECK(scanned == 7);
}

TEST_CASE("a tar with other labels but the same size and time is scanned again") {
  TempFolder t;
  const TempFolder cache;
  OpenOptions options;
  options.cache_dir = cache.path();
  const auto hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  const auto label = [&](const std::string& text) {
    t.write("a.tar", make_tar({{"1.jpg", "a"}, {"1.cls", text}, {"2.jpg", "b"}, {"2.cls", "5"}}));
    fs::last_write_time(t / "a.tar", hour_ago);
    return open_dataset(t / "a.tar", options)->label(0);
  };
  CHECK(label("3") == 3);
  CHECK_FALSE(fs::is_empty(cache.path()));
  CHECK(label("4") == 4);
}

TEST_CASE("few files stay open, and a tar that changes during a run is an error") {
  TempFolder t;
  for (int i = 0; i < 40; ++i)
    t.write("classes/" + std::to_string(i) + ".tar", make_tar({{"a.jpg", std::to_string(i)}}));
  const OpenFiles files(stamped({t / "classes/0.tar", t / "classes/1.tar", t / "classes/2.tar"}),
                        2);
  const auto held = files.open(0);
  for (uint32_t i : {1u, 2u, 0u, 1u, 2u}) CHECK(files.open(i)->path() == files.at(i).path);
  CHECK(files.open_now() == 2);
  CHECK(held->stamp().bytes == 2048);

  const auto data = open_dataset(t / "classes");
  const Texts expected = described(*data);
  std::vector<std::jthread> threads;
  std::atomic<int> same = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { same += described(*data) == expected ? 1 : 0; });
  threads.clear();
  CHECK(same == 4);

  const auto other = open_dataset(t / "classes");
  t.write("classes/7.tar", make_tar({{"a.jpg", "x"}, {"b.jpg", "y"}}));
  Bytes bytes;
  const auto seven = std::find(other->classes().begin(), other->classes().end(), "7");
  CHECK_THROWS_WITH(other->read(seven - other->classes().begin(), bytes),
                    Contains("7.tar has changed"));
}

TEST_CASE("shoal pack reads tars") {
  const Shapes shapes;
  const auto source = open_dataset(shapes.folder / "nested.tar");
  write_pack(*source, shapes.folder / "set.pack", {});
  const auto pack = open_dataset(shapes.folder / "set.pack");
  CHECK(described(*pack) == described(*source));
}

TEST_CASE("seek indexes from class folders are valid for tars of them") {
  const Shapes shapes;
  const TempFolder store;
  LoaderOptions options;
  options.batch_size = 3;
  options.hash = true;
  options.transform.size = 32;
  options.index_dir = store.path();
  const auto hash = [&](const char* name) {
    Loader loader(open_dataset(shapes.folder / name), options);
    uint64_t sum = 0;
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      loader.start_epoch(epoch);
      while (loader.next() != nullptr) {
      }
      sum += loader.stats().hash;
    }
    return sum;
  };
  const uint64_t folder = hash("folder");
  CHECK(hash("nested.tar") == folder);
  options.index_dir.clear();
  CHECK(hash("classes") == folder);
}
