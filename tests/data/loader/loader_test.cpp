#include "data/loader/loader.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <set>

#include "data/errors.h"
#include "data/jpeg/index_store.h"
#include "data/loader/transform.h"
#include "data/order.h"
#include "data/random.h"
#include "tests/data/support.h"

using namespace shoal::data;

namespace {

LoaderOptions small(int64_t batch_size = 4) {
  LoaderOptions options;
  options.seed = 5;
  options.batch_size = batch_size;
  options.transform.size = 24;
  options.transform.eval_resize = 28;
  options.transform.eval_size = 24;
  options.hash = true;
  return options;
}

struct Epoch {
  std::vector<int64_t> first_positions, counts;
  std::vector<Row> rows;
  Bytes pixels;
  LoaderStats stats;
};

Epoch run(Loader& loader, int64_t epoch, int64_t first_batch = 0) {
  Epoch result;
  loader.start_epoch(epoch, first_batch);
  while (const Batch* batch = loader.next()) {
    REQUIRE(static_cast<int64_t>(batch->rows.size()) == batch->count);
    result.first_positions.push_back(batch->first_position);
    result.counts.push_back(batch->count);
    result.rows.insert(result.rows.end(), batch->rows.begin(), batch->rows.end());
    const int64_t bytes = batch->count * batch->height * batch->width * 3;
    result.pixels.insert(result.pixels.end(), batch->images, batch->images + bytes);
  }
  CHECK(loader.next() == nullptr);
  result.stats = loader.stats();
  return result;
}

Epoch run(const std::shared_ptr<MemoryDataset>& data, const LoaderOptions& options,
          int64_t epoch = 0) {
  Loader loader(data, options);
  return run(loader, epoch);
}

const int64_t kRowBytes = 24 * 24 * 3;

Bytes row_pixels(const Epoch& epoch, int64_t row) {
  const auto at = epoch.pixels.begin() + row * kRowBytes;
  return {at, at + kRowBytes};
}

}  // namespace

TEST_CASE("batches follow the order of the epoch, without a partial last batch") {
  const auto data = made_dataset(22);
  for (const int64_t epoch : {0, 3}) {
    const Epoch result = run(data, small(), epoch);
    CHECK(result.first_positions == std::vector<int64_t>{0, 4, 8, 12, 16});
    const EpochOrder order(22, 5, epoch);
    for (int64_t i = 0; i < 20; ++i) {
      CHECK(result.rows[i].label == data->label(order(i)));
      CHECK(result.rows[i].key == sample_key(5, epoch, order(i)));
    }
    CHECK(result.stats.images == 20);
  }
}

TEST_CASE("the hash and every pixel are the same for any number of threads and batches ahead") {
  const auto data = made_dataset(40);
  LoaderOptions options = small();
  options.mix.mixup = 0.2;
  options.mix.cutmix = 1;
  const Epoch one = run(data, options);
  options.threads = 4;
  options.batches_ahead = 1;
  const Epoch four = run(data, options);
  CHECK(one.stats.hash == four.stats.hash);
  CHECK(one.pixels == four.pixels);
  CHECK(run(data, options, 1).stats.hash != one.stats.hash);
  options.mix.mixup = 0.3;
  CHECK(run(data, options).stats.hash != one.stats.hash);
  options = small();
  const uint64_t plain = run(data, options).stats.hash;
  data->images[EpochOrder(40, 5, 0)(7)] = made_jpeg(99);  // changes only the pixels
  CHECK(run(data, options).stats.hash != plain);
  options.seed = 6;
  CHECK(run(data, options).stats.hash != plain);
}

TEST_CASE(
    "ranks share the order in consecutive blocks and their hashes sum to that of one process") {
  const auto data = made_dataset(48);
  data->images[7].resize(200);  // damaged: gets the same replacement at any world size
  LoaderOptions options = small(12);
  options.mix.mixup = 0.4;
  const Epoch whole = run(data, options);
  for (const int64_t world : {2, 3}) {
    uint64_t hash = 0;
    int64_t bad = 0;
    for (int64_t rank = 0; rank < world; ++rank) {
      options.batch_size = 12 / world;
      options.rank = rank;
      options.world_size = world;
      options.threads = static_cast<int>(rank) + 1;
      Loader loader(data, options);
      CHECK(loader.batches_per_epoch() == 4);
      const Epoch part = run(loader, 0);
      hash += part.stats.hash;
      bad += part.stats.bad;
      for (int64_t batch = 0; batch < 4; ++batch) {
        CHECK(part.first_positions[batch] == batch * 12 + rank * options.batch_size);
        const int64_t row = batch * options.batch_size, same = part.first_positions[batch];
        CHECK(row_pixels(part, row) == row_pixels(whole, same));
        CHECK(part.rows[row].lambda == whole.rows[same].lambda);
      }
    }
    CHECK(hash == whole.stats.hash);
    CHECK(bad == whole.stats.bad);
  }
}

TEST_CASE("an epoch may start at any batch, and a new start discards batches in progress") {
  const auto data = made_dataset(40);
  LoaderOptions options = small();
  options.threads = 3;
  Loader loader(data, options);
  const Epoch whole = run(loader, 2);
  const Epoch tail = run(loader, 2, 6);
  CHECK(tail.pixels == Bytes(whole.pixels.begin() + 24 * kRowBytes, whole.pixels.end()));
  for (int i = 0; i < 20; ++i) {
    loader.start_epoch(i);
    for (int k = 0; k < i % 4; ++k) REQUIRE(loader.next() != nullptr);
  }
  CHECK(run(loader, 2).stats.hash == whole.stats.hash);
  CHECK(run(loader, 2, 10).counts.empty());
  CHECK_THROWS_AS(loader.start_epoch(0, 11), std::invalid_argument);
}

TEST_CASE("an empty dataset has an evaluation without batches, and no training") {
  LoaderOptions options = small();
  options.train = false;
  options.world_size = 2;
  options.uneven = true;
  Loader loader(made_dataset(0), options);
  CHECK((loader.batches_per_epoch() == 0 && loader.uneven()));
  for (int64_t epoch = 0; epoch < 2; ++epoch) CHECK(run(loader, epoch).counts.empty());
  options.train = true;
  CHECK_THROWS_AS(Loader(made_dataset(0), options), std::invalid_argument);
}

TEST_CASE("a batch does not change before the next call of next()") {
  const auto data = made_dataset(40);
  LoaderOptions options = small();
  options.threads = 4;
  options.batches_ahead = 2;
  const Epoch whole = run(data, options);
  Loader loader(data, options);
  loader.start_epoch(0);
  const Batch* batch = loader.next();
  batch = loader.next();
  Transform busy(options.transform);  // gives the workers time to fill all free buffers
  Bytes row(kRowBytes);
  for (int i = 0; i < 200; ++i) busy.evaluation_row(data->images[0], row.data());
  CHECK(std::equal(batch->images, batch->images + 4 * kRowBytes,
                   whole.pixels.begin() + 4 * kRowBytes));
}

TEST_CASE("evaluation reads the listing in order, every image once, at any world size") {
  const auto data = made_dataset(21);
  LoaderOptions options = small();
  options.train = false;
  options.mix.mixup = 1;  // ignored in evaluation
  const Epoch whole = run(data, options);
  CHECK(whole.counts == std::vector<int64_t>{4, 4, 4, 4, 4, 1});
  for (int64_t i = 0; i < 21; ++i) {
    CHECK(whole.rows[i].label == data->label(i));
    CHECK(whole.rows[i].partner == i % 4);
  }
  options.world_size = 3;
  uint64_t hash = 0;
  std::vector<std::vector<int64_t>> counts;
  for (options.rank = 0; options.rank < 3; ++options.rank) {
    const Epoch part = run(data, options);
    hash += part.stats.hash;
    counts.push_back(part.counts);
  }
  CHECK(hash == whole.stats.hash);
  CHECK(counts == std::vector<std::vector<int64_t>>{{4, 4}, {4, 4}, {4, 1}});
  options.world_size = 9;
  options.rank = 7;
  CHECK(run(data, options).counts == std::vector<int64_t>{0});
}

TEST_CASE(
    "a damaged image is named once and replaced by the next good one in the order, with the key of "
    "the damaged one") {
  const auto data = made_dataset(12);
  const EpochOrder order(12, 5, 0);
  data->images[order(3)].clear();
  data->images[order(4)].resize(100);
  data->images[order(11)].resize(100);  // the last in the order: replaced by the first
  std::mutex mutex;
  std::vector<std::string> named;
  LoaderOptions options = small();
  options.threads = 2;
  Loader loader(data, options, [&](const std::string& sentence) {
    const std::lock_guard lock(mutex);
    named.push_back(sentence);
  });
  const Epoch result = run(loader, 0);
  CHECK(result.stats.bad == 3);
  CHECK(named.size() == 3);
  CHECK(std::any_of(named.begin(), named.end(), [&](const std::string& s) {
    return s == "image " + std::to_string(order(3)) +
                    ": the file is empty; another image is used instead";
  }));
  Transform transform(options.transform);
  const auto expect = [&](int64_t position, int64_t replacement) {
    Bytes pixels(kRowBytes);
    const uint64_t key = sample_key(5, 0, order(position));
    transform.training_row(data->images[order(replacement)], key, pixels.data());
    CHECK(result.rows[position].key == key);
    CHECK(result.rows[position].label == data->label(order(replacement)));
    CHECK(row_pixels(result, position) == pixels);
  };
  expect(3, 5);
  expect(4, 5);
  expect(11, 0);
  CHECK(run(loader, 0).stats.bad == 3);  // counted in every epoch
  CHECK(named.size() == 3);              // but named only once
}

TEST_CASE("in evaluation a damaged image is marked, not replaced") {
  const auto data = made_dataset(6);
  data->images[2].resize(50);
  LoaderOptions options = small();
  options.train = false;
  const Epoch result = run(data, options);
  for (int64_t i = 0; i < 6; ++i) CHECK(result.rows[i].unreadable == (i == 2));
  CHECK(result.stats.bad == 1);
  CHECK(row_pixels(result, 2) == Bytes(kRowBytes, 0));
}

TEST_CASE("if bad images are errors, next() names the first one") {
  const auto data = made_dataset(24);
  const EpochOrder order(24, 5, 0);
  data->images[order(9)].resize(50);
  data->images[order(10)].resize(50);
  LoaderOptions options = small();
  options.bad_images = BadImages::error;
  options.threads = 3;
  Loader loader(data, options);
  loader.start_epoch(0);
  CHECK(loader.next() != nullptr);
  CHECK(loader.next() != nullptr);
  const auto name = "image " + std::to_string(order(9)) + ":";
  CHECK_THROWS_WITH(loader.next(), Catch::StartsWith(name));
  CHECK_THROWS_WITH(loader.next(), Catch::StartsWith(name));
  data->images[order(9)] = data->images[order(10)] = made_jpeg(1);
  CHECK(run(loader, 0).counts.size() == 6);
}

TEST_CASE("next() rethrows any other failure of a worker") {
  const auto data = made_dataset(24);
  data->unreadable = EpochOrder(24, 5, 0)(5);
  Loader loader(data, small());
  loader.start_epoch(0);
  CHECK(loader.next() != nullptr);
  CHECK_THROWS_WITH(loader.next(), Catch::Contains("gone"));
}

TEST_CASE("a dataset without a readable image is an error, not an endless search") {
  const auto data = made_dataset(8);
  for (Bytes& image : data->images) image.resize(30);
  Loader loader(data, small());
  loader.start_epoch(0);
  CHECK_THROWS_WITH(loader.next(), Catch::Contains("all damaged"));
}

TEST_CASE("a loader may be destroyed at any moment") {
  const auto data = made_dataset(64);
  for (int i = 0; i < 30; ++i) {
    LoaderOptions options = small();
    options.threads = 1 + i % 4;
    options.batches_ahead = 1 + i % 3;
    Loader loader(data, options);
    if (i % 5 == 0) continue;  // never started
    loader.start_epoch(i);
    for (int k = 0; k < i % 3; ++k) loader.next();
  }
}

TEST_CASE("memory comes from the given allocator and goes back to it") {
  const auto data = made_dataset(8);
  std::set<void*> alive;
  size_t largest = 0;
  const BufferAllocator allocator{[&](size_t bytes) {
                                    largest = std::max(largest, bytes);
                                    void* memory = ::operator new(bytes);
                                    alive.insert(memory);
                                    return memory;
                                  },
                                  [&](void* memory) {
                                    alive.erase(memory);
                                    ::operator delete(memory);
                                  },
                                  10};
  {
    Loader loader(data, small(), {}, allocator);
    CHECK(alive.size() == 4);  // three batches ahead and one that the consumer holds
    CHECK(largest == 4 * kRowBytes + 4 * 10);
    loader.start_epoch(0);
    const Batch* batch = loader.next();
    CHECK(alive.count(batch->images) == 1);
    CHECK(batch->room == 4 * 10);
  }
  CHECK(alive.empty());

  Loader ordinary(data, small(), {}, {{}, {}, 10});
  ordinary.start_epoch(0);
  CHECK(ordinary.next()->room == 4 * 10);
}

TEST_CASE("impossible settings are refused with a message") {
  const auto data = made_dataset(8);
  LoaderOptions options = small(3);
  options.mix.mixup = 0.2;
  CHECK_THROWS_WITH(Loader(data, options), Catch::Contains("even"));
  CHECK_THROWS_WITH(Loader(data, small(9)), Catch::Contains("lower the batch size"));
  options = small();
  options.rank = 1;
  CHECK_THROWS_AS(Loader(data, options), std::invalid_argument);
  CHECK_THROWS_AS(Loader(made_dataset(0), small()), std::invalid_argument);
  options = small();
  options.progression.smallest = 48;  // rounded up to 64, which is above the largest
  options.progression.largest = 50;
  options.progression.images_per_step = options.batch_size;
  CHECK_THROWS_WITH(Loader(data, options), Catch::Contains("multiple of 32"));
}

TEST_CASE("seek indexes change only the speed") {
  const TempFolder folder;
  std::vector<Bytes> files;
  KeyedRandom random(2);
  for (int i = 0; i < 12; ++i) {  // noise: files large enough that indexes are stored
    Bytes pixels(160 * 120 * 3);
    for (uint8_t& level : pixels) level = static_cast<uint8_t>(random.next());
    files.push_back(encode_jpeg(pixels.data(), {160, 120}, 90, i % 2 == 0));
  }
  const auto data = std::make_shared<MemoryDataset>(files);
  LoaderOptions plain = small(), indexed = small();
  indexed.index_dir = folder / "seek";
  indexed.threads = 3;
  for (const int run_of_program : {0, 1}) {
    Loader with(data, indexed), without(data, plain);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      INFO(run_of_program << ", epoch " << epoch);
      const Epoch expected = run(without, epoch), got = run(with, epoch);
      CHECK(got.pixels == expected.pixels);
      CHECK(got.stats.hash == expected.stats.hash);
    }
  }
  jpeg::IndexStore store(folder / "seek", 12);
  jpeg::SeekIndex index;
  int found = 0;
  for (int i = 0; i < 12; ++i) {
    found += store.find(i, files[static_cast<size_t>(i)], index) == jpeg::IndexStore::Answer::found;
  }
  CHECK(found == 12);
}
