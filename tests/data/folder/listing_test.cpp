#include "data/folder/listing.h"

#include <sys/stat.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>

#include "data/errors.h"
#include "data/folder/image_folder.h"
#include "tests/data/support.h"
#include "tests/support/failing_calls.h"

using namespace shoal::data;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> names(const std::string& root, int threads = 2) {
  OpenOptions options;
  options.threads = threads;
  const auto data = open_image_folder(root, options);
  std::vector<std::string> all;
  for (int64_t i = 0; i < data->size(); ++i)
    all.push_back(data->name(i).substr(root.size() + 1) + "=" + std::to_string(data->label(i)));
  return all;
}

// Sets the time of every folder to an hour ago, so that its listing may be cached.
void age(const std::string& root) {
  const auto then = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(root, then);
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.is_directory()) fs::last_write_time(entry.path(), then);
}

// A folder with three classes, and a cache folder. `listed` counts how often the folder is listed,
// which a valid cache makes unnecessary.
struct Cached {
  TempFolder data, cache;
  int listed = 0;
  Cached() {
    for (const char* name : {"a/1.jpg", "a/2.jpg", "b/1.jpg", "c/deep/1.jpg"})
      data.write(name, "x");
    age(data.path());
  }
  int64_t open() {
    OpenOptions options;
    options.cache_dir = cache.path();
    options.progress = [this](int64_t) { ++listed; };
    return open_image_folder(data.path(), options)->size();
  }
  std::string file() const { return listing_cache_path(cache.path(), data.path()); }
};

}  // namespace

TEST_CASE("classes and files are sorted by bytes in torchvision's order, also in deep folders") {
  TempFolder t;
  for (const char* name : {"b/2.jpg", "b/10.jpg", "b/.hidden", "a/z.png", "a/sub/y.tif",
                           "a/Sub/x.jpg", "a/Z.jpg", "a-b/1.jpg", "a/sub/deeper/w.jpg", "README"})
    t.write(name, "x");
  t.write(".git/config", "x");
  const std::vector<std::string> expected = {
      "a/Z.jpg=0",   "a/z.png=0",  "a/Sub/x.jpg=0", "a/sub/y.tif=0", "a/sub/deeper/w.jpg=0",
      "a-b/1.jpg=1", "b/10.jpg=2", "b/2.jpg=2"};
  CHECK(names(t.path()) == expected);
  CHECK(names(t.path(), 1) == expected);
  CHECK(open_image_folder(t.path() + "//")->classes() == std::vector<std::string>{"a", "a-b", "b"});
}

TEST_CASE("links to files and folders are followed, broken ones are left out, loops are an error") {
  TempFolder t;
  t.write("a/1.jpg", "x");
  t.write("elsewhere/b/2.jpg", "x");
  fs::create_directories(t / "root/c");
  fs::create_directory_symlink(t / "a", t / "root/a");
  fs::create_symlink(t / "elsewhere/b/2.jpg", t / "root/c/3.jpg");
  fs::create_symlink(t / "nowhere", t / "root/c/4.jpg");
  CHECK(names(t / "root") == std::vector<std::string>{"a/1.jpg=0", "c/3.jpg=1"});
  std::string warning;
  OpenOptions options;
  options.warning = [&](const std::string& text) { warning = text; };
  open_image_folder(t / "root", options);
  CHECK_THAT(warning, Catch::Contains("1 broken link (c/4.jpg)"));
  fs::create_directory_symlink(t / "root", t / "root/c/loop");
  CHECK_THROWS_WITH(names(t / "root"), Catch::Contains("root/c/loop links to ") &&
                                           Catch::Contains(", which contains the link"));
}

TEST_CASE("missing folders and missing images are reported with their paths") {
  TempFolder t;
  CHECK_THROWS_WITH(names(t / "none"), Catch::Contains(t / "none") && Catch::Contains("exist"));
  CHECK_THROWS_WITH(names(t.path()), Catch::Contains("the folder " + t.path() + " is empty"));
  t.write("image.jpg", "x");
  CHECK_THROWS_WITH(names(t.path()), Catch::Contains("has no class folders; expected " + t.path() +
                                                     "/<class>/<images>"));
  t.write("full/1.jpg", "x");
  fs::create_directories(t / "empty/inside");
  CHECK_THROWS_WITH(names(t.path()),
                    Catch::Contains("the class folder " + t / "empty" + " has no image"));
}

TEST_CASE("files are read unchanged, and a missing one is a damaged image") {
  TempFolder t;
  const Bytes bytes = made_jpeg(3);
  t.write("a/1.jpg", bytes);
  t.write("a/2.jpg", "");
  const auto data = open_image_folder(t.path());
  Bytes read(7);
  data->read(0, read);
  CHECK(read == bytes);
  data->read(1, read);
  CHECK(read.empty());
  fs::remove(t / "a/2.jpg");
  CHECK_THROWS_WITH(data->read(1, read), Catch::Contains("cannot open"));
  CHECK_THROWS_AS(data->read(1, read), DamagedImage);
  std::ofstream(t / "a/1.jpg").close();
  fs::resize_file(t / "a/1.jpg", uintmax_t{1} << 34);  // a sparse file of 16 GiB
  CHECK_THROWS_AS(data->read(0, read), DamagedImage);
}

TEST_CASE("a folder or an image that cannot be opened is named") {
  TempFolder t;
  t.write("a/1.jpg", made_jpeg(1));
  t.write("b/2.jpg", made_jpeg(2));
  {
    const shoal::test::FailingCalls broken(
        "opendir", [&](const std::string& path) { return path == t / "b"; }, EIO);
    CHECK_THROWS_WITH(names(t.path()), Catch::Contains("cannot open the folder " + t / "b") &&
                                           Catch::Contains("nput/output error"));
  }
  const auto data = open_image_folder(t.path());
  Bytes read;
  for (const auto& [error, reason] :
       {std::pair(EIO, "nput/output error"), {EMFILE, "oo many open files"}}) {
    const shoal::test::FailingCalls broken(
        "open", [&](const std::string& path) { return path == t / "b/2.jpg"; }, error);
    data->read(0, read);
    if (error == EIO)  // concerns this file only
      CHECK_THROWS_AS(data->read(1, read), DamagedImage);
    else
      CHECK_THROWS_WITH(data->read(1, read), Catch::Contains(t / "b/2.jpg"));
    CHECK_THROWS_WITH(data->read(1, read), Catch::Contains("open") && Catch::Contains(reason));
  }
}

TEST_CASE("a missing folder is an error, not a damaged image") {
  TempFolder t;
  t.write("set/a/1.jpg", made_jpeg(1));
  const auto data = open_image_folder(t / "set");
  std::filesystem::rename(t / "set", t / "moved");
  std::vector<uint8_t> bytes;
  try {
    data->read(0, bytes);
    FAIL("the image was read");
  } catch (const DamagedImage&) {
    FAIL("the image counts as damaged");
  } catch (const std::runtime_error& error) {
    CHECK_THAT(error.what(), Catch::Contains("set/a/1.jpg"));
  }
}

TEST_CASE("a listing is cached and used again") {
  Cached c;
  CHECK(c.open() == 4);
  CHECK(c.listed == 1);
  CHECK(fs::exists(c.file()));
  const auto first = list_folder(c.data.path(), 1),
             second = *load_listing(c.cache.path(), c.data.path());
  CHECK(first.names == second.names);
  CHECK(first.name_ends == second.name_ends);
  CHECK(first.classes == second.classes);
  CHECK(c.open() == 4);
  CHECK(c.listed == 1);
}

TEST_CASE("a folder is listed again when a file, a folder or a class is added or removed") {
  Cached c;
  int64_t size = c.open();
  int listed = c.listed;
  const auto changed = [&](int64_t expected) {
    size = c.open();
    CHECK(size == expected);
    CHECK(c.listed == ++listed);
    age(c.data.path());
    c.open();
    ++listed;
  };
  c.data.write("b/2.jpg", "x");
  changed(5);
  fs::remove(c.data / "a/1.jpg");
  changed(4);
  c.data.write("c/deep/2.jpg", "x");
  changed(5);
  c.data.write("d/1.jpg", "x");
  changed(6);
  fs::remove_all(c.data / "b");
  changed(4);
  CHECK(c.open() == 4);
  CHECK(c.listed == listed);
}

TEST_CASE("a folder is listed again when a broken link has become a class") {
  Cached c;
  const TempFolder elsewhere;
  fs::create_directory_symlink(elsewhere / "late", c.data / "late");
  age(c.data.path());
  CHECK(c.open() == 4);
  const int listed = c.listed;
  CHECK(c.open() == 4);
  CHECK(c.listed == listed);
  elsewhere.write("late/1.jpg", "x");
  CHECK(c.open() == 5);
}

TEST_CASE("a damaged cache is written again, wherever the damage is") {
  Cached c;
  c.open();
  const Bytes good = file_bytes(c.file());
  const auto replace = [&](const Bytes& bytes) {
    std::ofstream out(c.file(), std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
  };
  for (size_t i = 0; i < good.size(); ++i) {
    Bytes broken = good;
    broken[i] ^= 0x40;
    replace(broken);
    REQUIRE_FALSE(load_listing(c.cache.path(), c.data.path()));
    replace(Bytes(good.begin(), good.begin() + static_cast<int64_t>(i)));
    REQUIRE_FALSE(load_listing(c.cache.path(), c.data.path()));
  }
  CHECK(c.open() == 4);
  CHECK(c.listed == 2);
  CHECK(load_listing(c.cache.path(), c.data.path()));
}

TEST_CASE(
    "folders that changed recently are not cached, and a cache that cannot be written gives a "
    "warning") {
  TempFolder t;
  t.write("data/a/1.jpg", "x");
  t.write("file", "x");
  OpenOptions options;
  std::vector<std::string> warnings;
  options.cache_dir = t / "cache";
  options.warning = [&](const std::string& text) { warnings.push_back(text); };
  open_image_folder(t / "data", options);
  CHECK_FALSE(fs::exists(listing_cache_path(options.cache_dir, t / "data")));
  CHECK(warnings.empty());
  age(t / "data");
  options.cache_dir = t / "file/cache";
  CHECK(open_image_folder(t / "data", options)->size() == 1);
  CHECK(warnings.size() == 1);
}

TEST_CASE("progress is reported while many files are listed") {
  TempFolder t;
  for (int c = 0; c < 3; ++c) {
    fs::create_directories(t / std::to_string(c));
    for (int i = 0; i < 500; ++i)
      std::ofstream(t / (std::to_string(c) + "/" + std::to_string(i) + ".jpg")).close();
  }
  std::vector<int64_t> seen;
  list_folder(t.path(), 3, [&](int64_t files) { seen.push_back(files); });
  CHECK(seen.size() == 2);
  CHECK(seen.back() == 1500);
}
