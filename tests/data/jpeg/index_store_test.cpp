#include "data/jpeg/index_store.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>

#include "data/jpeg/baseline.h"
#include "data/jpeg/index_codec.h"
#include "data/random.h"
#include "tests/data/support.h"
#include "tests/support/failing_calls.h"

using namespace shoal::data;
using jpeg::IndexStore;
using jpeg::SeekIndex;
using Answer = IndexStore::Answer;
namespace fs = std::filesystem;

namespace {

// Returns a JPEG of noise, large enough that its index is stored.
Bytes noisy_jpeg(uint64_t seed) {
  KeyedRandom random(seed);
  Bytes pixels(300 * 200 * 3);
  for (uint8_t& level : pixels) level = static_cast<uint8_t>(random.next());
  return encode_jpeg(pixels.data(), {300, 200}, 90, false);
}

SeekIndex index_of(const Bytes& file) {
  jpeg::BaselineDecoder decoder;
  SeekIndex index;
  REQUIRE(decoder.open(file));
  REQUIRE(decoder.complete(index));
  return index;
}

}  // namespace

TEST_CASE("packing and unpacking an index restores it, and the packed index is small") {
  const Bytes file = noisy_jpeg(1);
  const SeekIndex index = index_of(file);
  const std::string packed = jpeg::pack_index(index);
  CHECK(packed.size() < index.size() * 12);
  const auto bytes = [&](size_t count) {
    return std::span(reinterpret_cast<const uint8_t*>(packed.data()), count);
  };
  SeekIndex again;
  REQUIRE(jpeg::unpack_index(bytes(packed.size()), again));
  CHECK(again == index);
  for (size_t cut = 0; cut < packed.size(); ++cut)
    CHECK_FALSE(jpeg::unpack_index(bytes(cut), again));
}

TEST_CASE("an index that one store writes is found by another; changed images have none") {
  const TempFolder folder;
  const Bytes file = noisy_jpeg(1), other = noisy_jpeg(2);
  const SeekIndex index = index_of(file);
  SeekIndex found;
  IndexStore reader(folder / "seek", 10);
  CHECK(reader.find(3, file, found) == Answer::unknown);
  CHECK(reader.will_read(0, 10) == 0);
  {
    IndexStore writer(folder / "seek", 10);
    writer.add(3, file, index);
    CHECK(writer.find(3, file, found) == Answer::unwanted);  // added, but not found until refresh()
    writer.refresh();
    CHECK(writer.find(3, file, found) == Answer::found);
    CHECK(found == index);
    CHECK(writer.find(3, other, found) == Answer::unknown);
    CHECK(found.empty());
    CHECK(writer.find(4, file, found) == Answer::unknown);
    writer.add(5, other, index_of(other));
  }
  reader.refresh();
  CHECK(reader.will_read(0, 10) == 2);
  CHECK(reader.will_read(4, 1) == 0);
  CHECK(reader.find(3, file, found) == Answer::found);
  CHECK(reader.find(5, other, found) == Answer::found);
  reader.add(3, other, index_of(other));  // overrides the older record
  reader.refresh();
  CHECK(reader.find(3, file, found) == Answer::unknown);
  CHECK(reader.find(3, other, found) == Answer::found);
}

TEST_CASE("of several records of an image, the one in the newest file counts") {
  const TempFolder folder;
  const Bytes file = noisy_jpeg(1), other = noisy_jpeg(2);
  SeekIndex found;
  {
    IndexStore first(folder / "seek", 10), second(folder / "seek", 10);
    second.add(3, other, index_of(other));  // in 1.seek
  }
  fs::last_write_time(folder / "seek/1.seek",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  IndexStore(folder / "seek", 10).add(3, file, index_of(file));  // in 0.seek
  CHECK(IndexStore(folder / "seek", 10).find(3, file, found) == Answer::found);
}

TEST_CASE("records of images that change between runs do not accumulate") {
  const TempFolder folder;
  const auto size = [&] { return fs::file_size(folder / "seek/0.seek"); };
  SeekIndex found;
  uint64_t of_one_run = 0;
  for (uint64_t run = 0; run < 8; ++run) {
    {
      IndexStore store(folder / "seek", 3);
      for (int64_t sample = 0; sample < 3; ++sample) {
        const Bytes image = noisy_jpeg(10 * run + static_cast<uint64_t>(sample));
        CHECK(store.find(sample, image, found) == Answer::unknown);
        store.add(sample, image, index_of(image));
      }
      store.refresh();
      CHECK(store.find(2, noisy_jpeg(10 * run + 2), found) == Answer::found);
    }
    if (run == 0) of_one_run = size();
    CHECK(2 * size() < 7 * of_one_run);
  }
  { const IndexStore fewer(folder / "seek", 1); }  // the other images are gone
  CHECK(size() == 0);
}

TEST_CASE("records that are mostly current are kept") {
  const TempFolder folder;
  const Bytes first = noisy_jpeg(1), second = noisy_jpeg(2), changed = noisy_jpeg(3);
  {
    IndexStore store(folder / "seek", 2);
    store.add(0, first, index_of(first));
    store.add(1, second, index_of(second));
    store.add(1, changed, index_of(changed));
  }
  SeekIndex found;
  const IndexStore again(folder / "seek", 2);
  CHECK(again.find(0, first, found) == Answer::found);
  CHECK(again.find(1, changed, found) == Answer::found);
}

TEST_CASE("a process reads the records of a file that another one removes and replaces") {
  const TempFolder folder;
  const Bytes images[] = {noisy_jpeg(1), noisy_jpeg(2), noisy_jpeg(3), noisy_jpeg(4)};
  SeekIndex found;
  IndexStore reader(folder / "seek", 1);  // owns 0.seek
  {
    IndexStore writer(folder / "seek", 1);  // owns 1.seek
    for (int i = 0; i < 3; ++i) writer.add(0, images[i], index_of(images[i]));
  }
  reader.refresh();
  IndexStore next(folder / "seek", 1);  // removes 1.seek, and owns a new one
  CHECK(next.find(0, images[2], found) == Answer::unknown);
  CHECK(reader.find(0, images[2], found) == Answer::found);
  reader.refresh();
  CHECK(reader.find(0, images[2], found) == Answer::found);
  next.add(0, images[3], index_of(images[3]));
  for (IndexStore* const store : {&next, &reader}) {
    store->refresh();
    CHECK(store->find(0, images[3], found) == Answer::found);
  }
}

TEST_CASE("a file that another process is writing is not removed") {
  const TempFolder folder;
  const Bytes images[] = {noisy_jpeg(1), noisy_jpeg(2), noisy_jpeg(3)};
  SeekIndex found;
  IndexStore writer(folder / "seek", 1);
  for (const Bytes& image : images) writer.add(0, image, index_of(image));
  writer.refresh();
  const IndexStore other(folder / "seek", 1);
  CHECK(other.find(0, images[2], found) == Answer::found);
  CHECK(fs::file_size(folder / "seek/0.seek") > 0);
}

TEST_CASE("without a writable folder, no index is asked for") {
  const TempFolder folder;
  std::ofstream(folder / "file") << "x";
  SeekIndex found;
  const IndexStore store(folder / "file", 10);
  CHECK(store.find(3, noisy_jpeg(1), found) == Answer::unwanted);
}

TEST_CASE("a write error that the file system reports at close is a warning") {
  const TempFolder folder;
  std::vector<std::string> warnings;
  std::optional<IndexStore> store;
  store.emplace(folder / "seek", 10, [&](const std::string& text) { warnings.push_back(text); });
  const shoal::test::FailingCalls broken(
      "close", [](const std::string& path) { return path.ends_with(".places"); }, EDQUOT);
  store.reset();
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains(folder / "seek") && Catch::Contains("quota"));
}

TEST_CASE("an index of more than 4 % of its image's bytes is not stored") {
  const TempFolder folder;
  const Bytes flat(64 * 64 * 3, 90);
  const Bytes file = encode_jpeg(flat.data(), {64, 64}, 90, false);
  IndexStore store(folder.path(), 1);
  SeekIndex found;
  CHECK(store.find(0, file, found) == Answer::unknown);
  store.add(0, file, index_of(file));
  CHECK(store.find(0, file, found) == Answer::unwanted);
  CHECK(store.will_read(0, 1) == 0);
}

TEST_CASE("damaged and truncated index files are ignored") {
  const TempFolder folder;
  const Bytes file = noisy_jpeg(1);
  const SeekIndex index = index_of(file);
  { IndexStore(folder.path(), 1).add(0, file, index); }
  const Bytes records = file_bytes(folder / "0.seek");
  KeyedRandom random(8);
  for (int i = 0; i < 100; ++i) {
    Bytes broken = records;
    if (i % 2 == 0)
      broken.resize(random.below(broken.size()));
    else
      broken[random.below(broken.size())] ^= static_cast<uint8_t>(1 + random.below(255));
    std::ofstream(folder / "0.seek", std::ios::binary)
        .write(reinterpret_cast<const char*>(broken.data()),
               static_cast<std::streamsize>(broken.size()));
    SeekIndex found;
    IndexStore store(folder.path(), 1);
    CHECK(store.find(0, file, found) == Answer::unknown);
    CHECK(found.empty());
  }
  // A killed writer may leave half an entry. The next writer continues after it.
  std::ofstream(folder / "0.places", std::ios::binary | std::ios::app) << "half";
  IndexStore store(folder.path(), 1);
  store.add(0, file, index);
  store.refresh();
  SeekIndex found;
  CHECK(store.find(0, file, found) == Answer::found);
  CHECK(found == index);
}

TEST_CASE(
    "a folder that cannot be written gives one warning, and images are read without indexes") {
  const TempFolder folder;
  std::ofstream(folder / "file") << "x";
  std::vector<std::string> warnings;
  IndexStore store(folder / "file/seek", 1,
                   [&](const std::string& text) { warnings.push_back(text); });
  const Bytes file = noisy_jpeg(1);
  store.add(0, file, index_of(file));
  store.refresh();
  SeekIndex found;
  CHECK(store.find(0, file, found) == Answer::unwanted);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("cannot create") && Catch::Contains("ot a directory"));
}
