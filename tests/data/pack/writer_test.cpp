#include "data/pack/writer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/text.h"
#include "data/pack/reader.h"
#include "data/pack/shards.h"
#include "tests/data/pack/support.h"
#include "tests/data/sources/support.h"
#include "tests/support/failing_calls.h"

using namespace shoal;
using namespace shoal::data;
namespace fs = std::filesystem;

TEST_CASE("packing continues after an interruption, but only with the same options") {
  const TempFolder folder;
  const auto source = noise_images(60);
  PackOptions options;
  write_pack(*source, folder / "whole.pack", options);
  for (const int64_t stop : {17, 33}) {
    struct Interrupted {};
    const auto interrupt = [&](int64_t done) {
      if (done >= stop) throw Interrupted();
    };
    CHECK_THROWS_AS(write_pack(*source, folder / "set.pack", options, interrupt), Interrupted);
    CHECK_FALSE(fs::exists(folder / "set.pack"));
  }
  // A killed process may leave data that has no entry in the table, and an incomplete entry.
  std::ofstream(folder / "set.pack.partial", std::ios::binary | std::ios::app) << "torn";
  std::ofstream(folder / "set.pack.partial.table", std::ios::binary | std::ios::app) << "half";
  const PackSummary summary = write_pack(*source, folder / "set.pack", options);
  CHECK(summary.resumed >= 33);
  CHECK(summary.images == 60);
  CHECK((file_bytes(folder / "set.pack") == file_bytes(folder / "whole.pack")));

  const auto interrupt = [](int64_t) { throw std::runtime_error("stop"); };
  CHECK_THROWS(write_pack(*source, folder / "other.pack", options, interrupt));
  options.index = false;
  CHECK(write_pack(*source, folder / "other.pack", options).resumed == 0);
}

TEST_CASE("data of an interrupted set that a power loss destroyed is packed again") {
  const TempFolder folder;
  const auto source = noise_images(60);
  source->images[2].resize(200);
  write_pack(*source, folder / "whole.pack", {});
  const auto interrupt = [](int64_t done) {
    if (done >= 40) throw std::runtime_error("stop");
  };
  CHECK_THROWS(write_pack(*source, folder / "set.pack", {}, interrupt));
  // Simulate a power loss in which the last third of the data did not reach the disk.
  Bytes torn = file_bytes(folder / "set.pack.partial");
  std::fill(torn.begin() + static_cast<int64_t>(torn.size() * 2 / 3), torn.end(), uint8_t{0});
  write_bytes(folder / "set.pack.partial", torn);
  const PackSummary summary = write_pack(*source, folder / "set.pack", {});
  CHECK(summary.resumed > 20);
  CHECK(summary.resumed < 45);  // fewer than were packed
  CHECK(summary.damaged == 1);
  CHECK((file_bytes(folder / "set.pack") == file_bytes(folder / "whole.pack")));
}

TEST_CASE("data before the last mark is not read again; a damaged table counts up to the damage",
          "[slow][single]") {
  const TempFolder folder;
  const auto source = noise_images(60);
  const auto interrupt = [](int64_t done) {
    if (done >= 40) throw std::runtime_error("stop");
  };
  write_pack(*source, folder / "whole.pack", {});
  const Bytes whole = file_bytes(folder / "whole.pack");
  PackOptions options;
  options.flush_seconds = 0;
  CHECK_THROWS(write_pack(*source, folder / "set.pack", options, interrupt));
  const Bytes table = file_bytes(folder / "set.pack.partial.table");
  const Bytes data = file_bytes(folder / "set.pack.partial");
  const auto go_on = [&](const Bytes& with_table) {
    write_bytes(folder / "set.pack.partial", data);
    write_bytes(folder / "set.pack.partial.table", with_table);
    fs::remove(folder / "set.pack");
    const PackSummary summary = write_pack(*source, folder / "set.pack", {});
    CHECK((file_bytes(folder / "set.pack") == whole));
    return summary.resumed;
  };
  CHECK(go_on(table) == 48);
  int64_t before = 0;
  for (size_t cut = 16; cut < table.size(); cut += 40) {  // power loss: the table is cut short
    Bytes torn = table;
    std::fill(torn.begin() + static_cast<int64_t>(cut), torn.end(), uint8_t{0});
    const int64_t resumed = go_on(torn);
    CHECK(resumed >= before);
    CHECK(resumed <= 48);
    before = resumed;
  }
  CHECK(before >= 46);
  // Images before the last mark in the table were flushed to disk. They are not read again, so a
  // change there goes unnoticed.
  Bytes changed = data;
  changed[data.size() / 2] ^= 1;
  write_bytes(folder / "set.pack.partial", changed);
  write_bytes(folder / "set.pack.partial.table", table);
  fs::remove(folder / "set.pack");
  CHECK(write_pack(*source, folder / "set.pack", {}).resumed == 48);
  CHECK(verify_pack(PackedDataset(folder / "set.pack"), 1, [](const std::string&) {}) == 1);
}

TEST_CASE("packing a complete set again succeeds and removes files that a killed run left",
          "[slow][single]") {
  const TempFolder folder;
  const auto source = noise_images(60);
  for (const int64_t shard_bytes : {0, 40000}) {
    PackOptions options;
    options.shard_bytes = shard_bytes;
    const std::string path = folder / (shard_bytes == 0 ? "set.pack" : "shards");
    const PackSummary first = write_pack(*source, path, options);
    const std::string file = shard_bytes == 0 ? path : path + "/00000.pack";
    std::ofstream(file + ".partial.table") << "left";
    std::ofstream(path + ".lock") << "";
    const PackSummary again = write_pack(*source, path, options);
    CHECK(again.images == first.images);
    CHECK(again.resumed == first.images);
    CHECK(again.file_bytes == first.file_bytes);
    CHECK_FALSE(fs::exists(file + ".partial.table"));
    CHECK_FALSE(fs::exists(path + ".lock"));
    options.index = false;
    CHECK_THROWS_AS(write_pack(*source, path, options), std::invalid_argument);
  }
  // A process was killed before it renamed the first list of shards.
  fs::create_directory(folder / "started");
  std::ofstream(fs::path(folder / "started") / ".shards.txt.part") << "left";
  PackOptions options;
  options.shard_bytes = 40000;
  CHECK(write_pack(*source, folder / "started", options).images == 60);
}

TEST_CASE("a source that has changed anywhere is packed from the start") {
  const TempFolder folder;
  TempFolder source;
  for (const int i : {0, 1, 2}) source.write("a/" + std::to_string(i) + ".jpg", made_jpeg(i));
  const auto interrupt = [](int64_t) { throw std::runtime_error("stop"); };
  CHECK_THROWS(write_pack(*open_dataset(source.path()), folder / "set.pack", {}, interrupt));
  fs::rename(source / "a/1.jpg", source / "a/1b.jpg");
  CHECK(write_pack(*open_dataset(source.path()), folder / "set.pack", {}).resumed == 0);
  source.write("a/2.jpg", made_jpeg(7));  // changes no name and no label
  CHECK_THROWS_WITH(write_pack(*open_dataset(source.path()), folder / "set.pack", {}),
                    Catch::Contains("already exists"));
}

TEST_CASE("a packed set is not reused if the records or --tfrecord-keys have changed") {
  const TempFolder folder;
  TempFolder source;
  const auto tar = [&](int64_t second) {
    source.write("a.tar", make_tar({{"a/1.jpg", jpeg_text(0)}, {"b/2.jpg", jpeg_text(second)}}));
  };
  PackOptions options;
  const auto pack = [&] {
    write_pack(*open_dataset(source / "a.tar"), folder / "set.pack", options);
  };
  tar(1);
  pack();
  CHECK_NOTHROW(pack());
  options.reading = "shape=3x8x8";
  CHECK_THROWS_WITH(pack(), Catch::Contains("already exists"));
  options.reading = "";
  fs::last_write_time(source / "a.tar", fs::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK_THROWS_WITH(pack(), Catch::Contains("already exists"));
}

TEST_CASE("a packed set does not contain the path of its source") {
  const TempFolder folder;
  TempFolder source;
  for (const char* name : {"cat/1.jpg", "cat/sub/2.jpg", "dog/3.jpg"})
    source.write("private/" + std::string(name), made_jpeg(1));
  for (const char* name : {"cat/4.jpg", "dog/5.jpg"})
    source.write("private-list/" + std::string(name), made_jpeg(1));
  source.write("private-list/a.manifest", R"(["cat/4.jpg", "dog/5.jpg"])");
  const auto packed_names = [&](const std::string& from) {
    PackOptions options;
    options.overwrite = true;
    write_pack(*open_dataset(from), folder / "set.pack", options);
    const Bytes bytes = file_bytes(folder / "set.pack");
    for (const std::string& part : {source.path(), std::string("private")})
      CHECK(std::search(bytes.begin(), bytes.end(), part.begin(), part.end()) == bytes.end());
    std::set<std::string> names;
    const PackedDataset pack(folder / "set.pack");
    for (int64_t i = 0; i < pack.size(); ++i)
      names.insert(pack.name(i).substr((folder / "set.pack:").size()));
    return names;
  };
  const std::set<std::string> all = {"cat/1.jpg", "cat/sub/2.jpg", "dog/3.jpg"};
  CHECK(packed_names(source / "private") == all);
  fs::rename(folder / "set.pack", source / "set.pack");
  CHECK(packed_names(source / "set.pack") == all);
  CHECK(packed_names(source / "private-list/a.manifest") ==
        std::set<std::string>{"cat/4.jpg", "dog/5.jpg"});
  const auto entry = [&](const std::string& name, int label) {
    return R"({"source-ref": ")" + source / ("private-list/" + name) + R"(", "class": )" +
           std::to_string(label) + "}\n";
  };
  source.write("elsewhere/b.manifest", entry("cat/4.jpg", 0) + entry("dog/5.jpg", 1));
  const std::set<std::string> elsewhere = packed_names(source / "elsewhere/b.manifest");
  REQUIRE(elsewhere.size() == 2);
  CHECK_THAT(*elsewhere.begin(), Catch::StartsWith("cat-") && Catch::EndsWith("/4.jpg"));
  // An image outside the list's folder does not change the keys of the images inside it.
  source.write("private-list/c.manifest", R"({"source-ref": "cat/4.jpg", "class": 0})");
  source.write("private-list/d.manifest", R"({"source-ref": "cat/4.jpg", "class": 0})"
                                          "\n" +
                                              entry("../private/cat/1.jpg", 0));
  const auto c = open_dataset(source / "private-list/c.manifest");
  const auto d = open_dataset(source / "private-list/d.manifest");
  CHECK(c->key(0) == "cat/4.jpg");
  CHECK(std::set{d->key(0), d->key(1)}.contains("cat/4.jpg"));
}

TEST_CASE("a set made from a packed set is not reused if the images of that set have changed") {
  const TempFolder folder;
  const auto before = noise_images(6);
  auto after = noise_images(6);
  std::swap(after->images[0], after->images[5]);
  PackOptions options;
  write_pack(*before, folder / "a.pack", options);
  write_pack(PackedDataset(folder / "a.pack"), folder / "b.pack", options);
  options.overwrite = true;
  write_pack(*after, folder / "a.pack", options);
  options.overwrite = false;
  CHECK_THROWS_WITH(write_pack(PackedDataset(folder / "a.pack"), folder / "b.pack", options),
                    Catch::Contains("--overwrite"));
}

TEST_CASE("only one process at a time writes a packed set, and no other files remain") {
  const TempFolder folder;
  const auto source = noise_images(10);
  const auto beside = [&](int64_t) {
    CHECK_THROWS_WITH(write_pack(*source, folder / "set.pack", {}),
                      Catch::Contains("another run is writing to " + folder / "set.pack"));
  };
  write_pack(*source, folder / "set.pack", {}, beside);
  PackOptions options;
  options.index = false;
  CHECK_THROWS_WITH(write_pack(*source, folder / "set.pack", options),
                    Catch::Contains("--overwrite"));
  options.overwrite = true;
  fs::create_directory(folder / "mine");
  CHECK_THROWS_WITH(write_pack(*source, folder / "mine", options), Catch::Contains("--shard-size"));
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder.path()))
    left.insert(entry.path().filename());
  CHECK(left == std::set<std::string>{"mine", "set.pack"});
  CHECK_THROWS_WITH(PackedDataset(folder / "mine"), Catch::Contains("is not a packed set"));
}

TEST_CASE("an interrupted set in shards continues, and is refused until it is complete") {
  const test::TemporaryDirectory directory;
  const auto source = noise_images(23);
  const std::string whole = directory.path() / "whole", killed = directory.path() / "killed";
  PackOptions options;
  options.shard_bytes = 100'000;
  const PackSummary first = write_pack(*source, whole, options);
  source->unreadable = 20;
  CHECK_THROWS(write_pack(*source, killed, options));
  CHECK_THROWS_WITH(open_dataset(killed), Catch::Contains("is unfinished"));
  source->unreadable = -1;
  const PackSummary second = write_pack(*source, killed, options);
  CHECK(second.resumed > 0);
  CHECK(second.file_bytes == first.file_bytes);
  CHECK(second.index_bytes == first.index_bytes);
  CHECK(second.original == 23);
  for (const std::string& file : packed_files(whole))
    CHECK(file_bytes(file) == file_bytes(fs::path(killed) / fs::path(file).filename()));
  CHECK(packed_files(whole).size() == packed_files(killed).size());
  fs::remove(packed_files(killed)[1]);
  CHECK_THROWS_WITH(open_dataset(killed), Catch::Contains("has no 00001.pack, one of its"));
}

TEST_CASE("a set in shards is replaced when the new one is complete, and nothing else is removed") {
  const test::TemporaryDirectory directory;
  const std::string set = directory.path() / "set";
  const auto before = noise_images(23), after = noise_images(22);
  PackOptions options;
  options.shard_bytes = 100'000;
  write_pack(*before, set, options);
  write_bytes(fs::path(set) / "notes.pack.txt", {1});
  options.overwrite = true;
  after->unreadable = 20;
  CHECK_THROWS(write_pack(*after, set, options));
  CHECK(open_dataset(set)->size() == 23);  // still the old one
  after->unreadable = -1;
  const PackSummary summary = write_pack(*after, set, options);
  CHECK(summary.resumed > 0);
  CHECK(summary.images == 22);
  CHECK(open_dataset(set)->size() == 22);
  std::set<std::string> names;
  for (const auto& file : fs::directory_iterator(set)) names.insert(file.path().filename());
  std::set<std::string> expected = {"notes.pack.txt", "shards.txt"};
  for (const std::string& file : packed_files(set)) expected.insert(fs::path(file).filename());
  CHECK(names == expected);
}

TEST_CASE("a file that is not in the list of a set in shards is not replaced") {
  const test::TemporaryDirectory directory;
  const std::string set = directory.path() / "set";
  const auto before = noise_images(12), after = noise_images(23);
  PackOptions options;
  options.shard_bytes = 100'000;
  write_pack(*before, set, options);
  const auto next = fs::path(set) / strf("%05zu.pack", packed_files(set).size());
  write_bytes(next, {1, 2, 3});
  options.overwrite = true;
  CHECK_THROWS_WITH(write_pack(*after, set, options), Catch::Contains(next.string()));
  CHECK(file_bytes(next) == std::vector<uint8_t>{1, 2, 3});
  CHECK(open_dataset(set)->size() == 12);
  fs::remove(next);
  write_pack(*after, set, options);
  CHECK(open_dataset(set)->size() == 23);
}

TEST_CASE("the files of a replacement are on the disk before its list") {
  const test::TemporaryDirectory directory;
  const fs::path set = directory.path() / "set", other = directory.path() / "other";
  const auto before = noise_images(23), after = noise_images(22);
  PackOptions options;
  options.shard_bytes = 100'000;
  write_pack(*before, set, options);
  write_pack(*after, other, options);
  options.overwrite = true;
  const auto moved = [&](const std::string& file) {
    return file_bytes(set / fs::path(file).filename()) == file_bytes(file);
  };
  bool seen = false;
  const auto look = [&](const std::string& path) {
    seen = seen || (path == set.string() && std::ranges::all_of(packed_files(other), moved) &&
                    file_bytes(set / "shards.txt") != file_bytes(other / "shards.txt"));
    return false;
  };
  const test::FailingCalls flushes("fsync", look, EIO);
  write_pack(*after, set, options);
  CHECK(seen);
  CHECK(file_bytes(set / "shards.txt") == file_bytes(other / "shards.txt"));
}

TEST_CASE("a replacement that was interrupted between its files is not read, and is completed") {
  const test::TemporaryDirectory directory;
  const std::string set = directory.path() / "set", other = directory.path() / "other";
  const auto before = noise_images(23), after = noise_images(12);
  PackOptions options;
  options.shard_bytes = 100'000;
  write_pack(*before, set, options);
  write_pack(*after, other, options);
  REQUIRE(packed_files(other).size() >= 2);
  // The writer was killed when the new set was complete and its first file had been moved.
  fs::rename(other, fs::path(set) / ".replacement");
  fs::rename(fs::path(set) / ".replacement/00000.pack", fs::path(set) / "00000.pack");
  std::ofstream(fs::path(set) / "shards.txt") << "shoal packed set, request 0, being replaced\n5\n";
  CHECK_THROWS_WITH(open_dataset(set), Catch::Contains("unfinished"));
  CHECK_THROWS_AS(write_pack(*before, set, options), std::invalid_argument);
  options.overwrite = true;
  CHECK(write_pack(*after, set, options).images == 12);
  CHECK(open_dataset(set)->size() == 12);
  CHECK_FALSE(fs::exists(fs::path(set) / ".replacement"));
}

TEST_CASE("after an interrupted replacement, a smaller set leaves no file behind") {
  const test::TemporaryDirectory directory;
  const fs::path set = directory.path() / "set";
  const auto first = noise_images(12), large = noise_images(40), small = noise_images(6);
  PackOptions options;
  options.shard_bytes = 100'000;
  write_pack(*first, set, options);
  options.overwrite = true;
  {  // the last file cannot be moved
    const auto last = [&](const std::string& path) {
      return path.find(".replacement/00007.pack ") != path.npos;
    };
    const test::FailingCalls renames("rename", last, EIO);
    CHECK_THROWS(write_pack(*large, set, options));
    REQUIRE(renames.count() == 1);
  }
  for (const auto& source : {small, first}) {
    write_pack(*source, set, options);
    CHECK(open_dataset(set)->size() == source->size());
    const auto files = std::distance(fs::directory_iterator(set), fs::directory_iterator());
    CHECK(files == static_cast<std::ptrdiff_t>(packed_files(set).size()) + 1);  // and shards.txt
  }
}
