#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "data/errors.h"
#include "data/image/raw_pixels.h"
#include "data/jpeg/baseline.h"
#include "data/loader/loader.h"
#include "data/pack/reader.h"
#include "data/pack/shards.h"
#include "data/pack/writer.h"
#include "tests/data/pack/support.h"

using namespace shoal;
using namespace shoal::data;
namespace fs = std::filesystem;

namespace {

Bytes batch_pixels(std::shared_ptr<const Dataset> data) {
  LoaderOptions options;
  options.batch_size = 5;
  options.transform.size = 32;
  Loader loader(std::move(data), options);
  Bytes pixels;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    loader.start_epoch(epoch);
    while (const Batch* batch = loader.next())
      pixels.insert(pixels.end(), batch->images, batch->images + batch->count * 32 * 32 * 3);
  }
  return pixels;
}

}  // namespace

TEST_CASE("a packed set has the images, labels, names and batches of its source") {
  const TempFolder folder;
  const auto source = noise_images(20);
  PackOptions options;
  options.threads = 3;
  const PackSummary summary = write_pack(*source, folder / "set.pack", options);
  CHECK(summary.images == 20);
  CHECK(summary.original == 20);
  CHECK(summary.index_bytes > 0);
  CHECK(summary.file_bytes == fs::file_size(folder / "set.pack"));
  CHECK_FALSE(fs::exists(folder / "set.pack.partial"));
  CHECK_FALSE(fs::exists(folder / "set.pack.partial.table"));

  REQUIRE(is_packed_set(folder / "set.pack"));
  const auto pack = open_dataset(folder / "set.pack");
  REQUIRE(pack->size() == 20);
  CHECK(pack->classes() == source->classes());
  Bytes ours, theirs;
  for (int64_t i = 0; i < 20; ++i) {
    pack->read(i, ours);
    source->read(i, theirs);
    CHECK((ours == theirs));
    CHECK(pack->label(i) == source->label(i));
    CHECK(pack->name(i) == folder / "set.pack" + ":" + source->name(i));
    jpeg::SeekIndex kept, made;
    jpeg::BaselineDecoder decoder;
    const bool baseline = decoder.open(theirs) && decoder.complete(made);
    CHECK(pack->seek_index(i, kept) == baseline);
    if (baseline) CHECK((kept == made));
  }
  CHECK((batch_pixels(pack) == batch_pixels(source)));
  CHECK(verify_pack(PackedDataset(folder / "set.pack"), 2, [](const std::string&) {}) == 0);

  const std::string channel = folder / "channel";
  fs::create_directory(channel);
  fs::rename(folder / "set.pack", channel + "/set.pack");
  CHECK(open_dataset(channel)->size() == 20);
  std::ofstream(channel + "/other") << "a second file";
  CHECK_THROWS_WITH(open_dataset(channel), Catch::Contains("contains no class folders"));
}

TEST_CASE("large images are reduced, a share is stored as pixels, the others are unchanged") {
  const TempFolder folder;
  const auto source = noise_images(20);
  PackOptions options;
  options.max_side = 150;
  options.raw_share = 0.3;
  const PackSummary summary = write_pack(*source, folder / "set.pack", options);
  CHECK(summary.original + summary.encoded + summary.pixels == 20);
  CHECK(summary.pixels >= 2);
  const PackedDataset pack(folder / "set.pack");
  ImageReader reader;
  Bytes bytes, before;
  for (int64_t i = 0; i < 20; ++i) {
    pack.read(i, bytes);
    source->read(i, before);
    const Size size = reader.open(bytes), full = reader.open(before);
    CHECK(std::max(size.width, size.height) == std::min<int64_t>(150, full.width));
    const bool raw = recognize(bytes) == Format::raw;
    CHECK(raw == (pack.entry(i).kind == Packed::pixels));
    if (!raw && full.width <= 150) CHECK((bytes == before));
    const Box all{0, 0, size.width, size.height};
    if (raw && full.width <= 150)
      CHECK((read_box(reader, bytes, all) == read_box(reader, before, all)));
  }
}

TEST_CASE("with a quality, images are encoded again if that saves a tenth") {
  const TempFolder folder;
  const auto source = noise_images(20);
  PackOptions options;
  options.quality = 60;
  const PackSummary summary = write_pack(*source, folder / "set.pack", options);
  CHECK(summary.encoded >= 10);
  CHECK(summary.original + summary.encoded == 20);
  const PackedDataset pack(folder / "set.pack");
  ImageReader reader;
  Bytes bytes, before;
  for (int64_t i = 0; i < 20; ++i) {
    pack.read(i, bytes);
    source->read(i, before);
    if (pack.entry(i).kind == Packed::original) {
      CHECK((bytes == before));
      continue;
    }
    CHECK(bytes.size() * 10 <= before.size() * 9);
    const Size size = reader.open(bytes), full = reader.open(before);
    CHECK(size.width == full.width);
    CHECK(size.height == full.height);
  }
  // Encoding again with the same quality saves nothing.
  CHECK(write_pack(pack, folder / "again.pack", options).encoded == 0);
  options.quality = 100;
  CHECK(write_pack(pack, folder / "larger.pack", options).encoded == 0);
}

TEST_CASE("a set in shards may be in the current folder") {
  const TempFolder folder;
  PackOptions options;
  options.shard_bytes = 100'000;
  fs::create_directory(folder / "here");
  CHECK(write_pack(*noise_images(5), folder / "here/.", options).images == 5);
  CHECK(open_dataset(folder / "here")->size() == 5);
}

TEST_CASE("an image too long for a JPEG is unchanged") {
  const TempFolder folder;
  const Size size{65501, 1};
  const auto source = std::make_shared<MemoryDataset>(
      std::vector<Bytes>{encode_bmp(noise_pixels(size, 1), size), made_jpeg(1)}, 1);
  PackOptions options;
  options.quality = 90;
  const PackSummary summary = write_pack(*source, folder / "set.pack", options);
  CHECK(summary.images == 2);
  CHECK(summary.original >= 1);
  Bytes bytes;
  PackedDataset(folder / "set.pack").read(0, bytes);
  CHECK((bytes == source->images[0]));
}

TEST_CASE("damage is found and reported") {
  const TempFolder folder;
  const auto source = noise_images(10);
  write_pack(*source, folder / "set.pack", {});
  const Bytes good = file_bytes(folder / "set.pack");
  PackHeader header;
  std::memcpy(&header, good.data(), sizeof header);
  KeyedRandom random(4);
  for (int i = 0; i < 200; ++i) {  // a changed byte anywhere
    Bytes bad = good;
    const auto at = i < 64 ? static_cast<size_t>(i) : random.below(bad.size());
    bad[at] ^= static_cast<uint8_t>(1 + random.below(255));
    write_bytes(folder / "bad.pack", bad);
    INFO("byte " << at << ", table at " << header.table);
    try {
      const PackedDataset pack(folder / "bad.pack");
      std::vector<std::string> sentences;
      const int64_t found =
          verify_pack(pack, 1, [&](const std::string& s) { sentences.push_back(s); });
      if (at < header.table - 8) CHECK(found == 1);  // later bytes may be padding before the table
      if (found == 1) CHECK(sentences[0].find("bad.pack:image ") != std::string::npos);
      CHECK(at >= sizeof header);
      CHECK(at < header.table);
    } catch (const std::invalid_argument& error) {
      CHECK(std::string(error.what()).find("bad.pack") != std::string::npos);
      CHECK((at < sizeof header || at >= header.table));
    }
  }
  for (int i = 0; i < 200; ++i) {  // cut short anywhere
    write_bytes(
        folder / "bad.pack",
        Bytes(good.begin(),
              good.begin() + static_cast<int64_t>(good.size() * static_cast<size_t>(i) / 200)));
    CHECK_THROWS_AS(PackedDataset(folder / "bad.pack"), std::invalid_argument);
  }
}

TEST_CASE("reading a packed set that became shorter is an error; names and labels stay readable") {
  const TempFolder folder;
  const std::string path = folder / "set.pack";
  write_pack(*noise_images(10), path, {});
  const PackedDataset pack(path);
  const std::string name = pack.name(9);
  const int32_t label = pack.label(9);
  std::filesystem::resize_file(path, 0);
  CHECK(pack.name(9) == name);
  CHECK(pack.label(9) == label);
  Bytes bytes;
  CHECK_THROWS_WITH(pack.read(9, bytes), Catch::Contains("set.pack has become shorter"));
}

TEST_CASE("an impossible entry is damage, even if the table's checksum is right") {
  const TempFolder folder;
  write_pack(*noise_images(3), folder / "set.pack", {});
  const Bytes good = file_bytes(folder / "set.pack");
  PackHeader header;
  std::memcpy(&header, good.data(), sizeof header);
  // Changes the second entry, and expects an error that contains `part`.
  const auto check_refused = [&](const std::string& part, auto change) {
    Bytes bad = good;
    uint8_t* const place = bad.data() + header.table + sizeof(PackEntry);
    PackEntry entry;
    std::memcpy(&entry, place, sizeof entry);
    change(entry);
    std::memcpy(place, &entry, sizeof entry);
    header.check = pack_check(header, std::span(bad).subspan(header.table));
    std::memcpy(bad.data(), &header, sizeof header);
    write_bytes(folder / "bad.pack", bad);
    CHECK_THROWS_WITH(PackedDataset(folder / "bad.pack"),
                      Catch::Contains("bad.pack is damaged") && Catch::Contains(part));
  };
  for (const uint32_t kind : {3u, 1u << 24, UINT32_MAX})
    check_refused("kind", [&](PackEntry& e) { e.kind = static_cast<Packed>(kind); });
  for (const int32_t label : {-1, INT32_MIN, static_cast<int32_t>(header.classes), INT32_MAX})
    check_refused("class", [&](PackEntry& e) { e.label = label; });
  for (const uint64_t offset : {header.end, header.end + 1, UINT64_MAX, UINT64_MAX - 8})
    check_refused("outside", [&](PackEntry& e) { e.offset = offset; });
  check_refused("outside", [&](PackEntry& e) { e.bytes = UINT32_MAX; });
  check_refused("outside", [&](PackEntry& e) { e.index_bytes = UINT32_MAX; });
  check_refused("outside", [&](PackEntry& e) {
    e.bytes = static_cast<uint32_t>(header.end - e.offset - e.index_bytes) + 1;
  });
}

TEST_CASE("an image is checked when it is read; raw pixels at the first read and when verified") {
  const TempFolder folder;
  PackOptions options;
  options.raw_share = GENERATE(0.0, 1.0);
  write_pack(*noise_images(3), folder / "set.pack", options);
  const PackedDataset pack(folder / "set.pack");
  const auto damage = [&](int64_t sample) {
    std::fstream file(folder / "set.pack", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<int64_t>(pack.entry(sample).offset) + 100);
    file.put('\x5a').put('\x5b').put('\x5c');
  };
  Bytes bytes;
  damage(1);
  for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(pack.read(1, bytes), DamagedImage);
  pack.read(2, bytes);
  const Bytes good = bytes;
  damage(2);
  if (options.raw_share == 0) {
    CHECK_THROWS_AS(pack.read(2, bytes), DamagedImage);
  } else {
    pack.read(2, bytes);
    CHECK(bytes.size() == good.size());
    CHECK((bytes != good));
  }
  CHECK_THROWS_AS(pack.read_checked(2, bytes), DamagedImage);
  CHECK(verify_pack(pack, 1, [](const std::string&) {}) == 2);
}

TEST_CASE("damaged images are left out and reported; an existing set is not overwritten") {
  const TempFolder folder;
  const auto source = noise_images(10);
  source->images[3].resize(200);
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& text) { warnings.push_back(text); };
  const PackSummary summary = write_pack(*source, folder / "set.pack", {}, {}, warn);
  CHECK(summary.damaged == 1);
  CHECK(summary.images == 9);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("image 3") != std::string::npos);
  PackOptions again;
  again.index = false;
  CHECK_THROWS_WITH(write_pack(*source, folder / "set.pack", again),
                    Catch::Contains("--overwrite"));
  again.overwrite = true;
  CHECK(write_pack(*source, folder / "set.pack", again).images == 9);
  for (Bytes& bytes : source->images) bytes.clear();
  CHECK_THROWS_WITH(write_pack(*source, folder / "none.pack", {}), Catch::Contains("no image"));
}

TEST_CASE("a set in shards has the same images as one file") {
  const test::TemporaryDirectory directory;
  const auto source = noise_images(23);
  const std::string one = directory.path() / "one.pack", many = directory.path() / "many";
  PackOptions options;
  options.threads = 2;
  write_pack(*source, one, options);
  options.shard_bytes = 100'000;
  CHECK(write_pack(*source, many, options).images == 23);
  const auto files = packed_files(many);
  CHECK(files.size() >= 3);
  for (size_t i = 0; i + 1 < files.size(); ++i) {
    CHECK(fs::file_size(files[i]) >= 100'000);
    CHECK(fs::file_size(files[i]) < 200'000);
  }
  const auto whole = open_dataset(one), sharded = open_dataset(many);
  REQUIRE(sharded->size() == 23);
  CHECK(sharded->classes() == whole->classes());
  std::vector<int64_t> starts = {0};
  for (const std::string& file : files)
    starts.push_back(starts.back() + PackedDataset(file).size());
  Bytes a, b;
  jpeg::SeekIndex index, other;
  for (int64_t i = 0; i < 23; ++i) {
    whole->read(i, a);
    sharded->read(i, b);
    CHECK(a == b);
    CHECK(sharded->label(i) == whole->label(i));
    const auto file = std::upper_bound(starts.begin(), starts.end(), i) - starts.begin() - 1;
    CHECK(sharded->name(i) == files[static_cast<size_t>(file)] + ":image " + std::to_string(i));
    CHECK(sharded->seek_index(i, index) == whole->seek_index(i, other));
    CHECK(index == other);
  }
  sharded->will_read(0, 23);
  CHECK(batch_pixels(sharded) == batch_pixels(whole));
  options.quality = 80;  // other options than those of the set
  CHECK_THROWS_WITH(write_pack(*source, many, options), Catch::Contains("other options"));
  options.overwrite = true;
  CHECK(write_pack(*source, many, options).images == 23);
}

TEST_CASE("a sharded set whose list names no file is refused") {
  TempFolder t;
  t.write("set/shards.txt", "x\nwhole\n");
  CHECK_THROWS_WITH(packed_files(t / "set"), Catch::Contains("has no packed file"));
}

TEST_CASE("a folder that is not a packed set is not written to") {
  const test::TemporaryDirectory directory;
  write_bytes(directory.path() / "letter.txt", {1, 2, 3});
  PackOptions options;
  options.shard_bytes = 1000;
  CHECK_THROWS_WITH(write_pack(*noise_images(2), directory.path(), options),
                    Catch::Contains("neither empty"));
  CHECK_THROWS_WITH(write_pack(*noise_images(2), directory.path() / "letter.txt", options),
                    Catch::Contains("is a file"));
}
