#include "data/loader/worker.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <set>

#include "data/errors.h"
#include "data/random.h"
#include "data/stage_clock.h"
#include "tests/data/support.h"

using namespace shoal::data;

namespace {

constexpr int64_t kImageSide = 16;

LoaderOptions options_of(bool train) {
  LoaderOptions options;
  options.train = train;
  options.transform.size = kImageSide;
  options.transform.eval_resize = 20;
  options.transform.eval_size = kImageSide;
  return options;
}

// A worker, its dataset and the memory of one row.
struct Desk {
  std::shared_ptr<MemoryDataset> data = made_dataset(12);
  LoaderOptions options;
  std::vector<std::string> named;
  BadImageLog log{[this](const std::string& sentence) { named.push_back(sentence); }};
  Worker worker{options, log};
  Row row;
  Bytes pixels = Bytes(kImageSide * kImageSide * 3, 77);

  explicit Desk(const LoaderOptions& o) : options(o) {}
  Worker::Result make(int64_t position, int32_t index) {
    const DatasetFeed feed(data, 5, 2, options.train);
    return worker.make(feed, position, index, row, pixels.data());
  }
};

}  // namespace

TEST_CASE("a row is the image of its ticket, cropped with the ticket's key") {
  Desk desk(options_of(true));
  Transform transform(desk.options.transform);
  const EpochOrder order(12, 5, 2);
  for (int64_t position = 0; position < 12; ++position) {
    const Worker::Result result = desk.make(position, 3);
    const int64_t sample = order(position);
    Bytes expected(desk.pixels.size());
    transform.training_row(desk.data->images[static_cast<size_t>(sample)], sample_key(5, 2, sample),
                           expected.data());
    CHECK(desk.pixels == expected);
    CHECK(desk.row.key == sample_key(5, 2, sample));
    CHECK(desk.row.label == desk.data->label(sample));
    CHECK(desk.row.partner == 3);
    CHECK(result.bad == 0);
    CHECK(result.hash == 0);  // options.hash is off
  }
}

TEST_CASE("the hash is reproducible and covers position, label and pixels") {
  LoaderOptions options = options_of(true);
  options.hash = true;
  Desk desk(options);
  const uint64_t hash = desk.make(4, 0).hash;
  CHECK(desk.make(4, 1).hash == hash);  // the place in the batch does not matter
  CHECK(desk.make(5, 0).hash != hash);
  const auto sample = static_cast<size_t>(EpochOrder(12, 5, 2)(4));
  const Bytes image = desk.data->images[sample];
  desk.data->images[sample] = made_jpeg(99);
  CHECK(desk.make(4, 0).hash != hash);
  desk.data->images[sample] = image;
  CHECK(desk.make(4, 0).hash == hash);
}

TEST_CASE("a damaged image is replaced in training, marked in evaluation, or thrown by name") {
  Desk train(options_of(true));
  const EpochOrder order(12, 5, 2);
  train.data->images[static_cast<size_t>(order(0))].resize(60);
  CHECK(train.make(0, 0).bad == 1);
  CHECK(train.row.label == train.data->label(order(1)));
  CHECK_FALSE(train.row.unreadable);
  CHECK(train.make(0, 0).bad == 1);
  CHECK(train.named.size() == 1);  // counted again, named once

  Desk eval(options_of(false));
  eval.data->images[6].clear();
  CHECK(eval.make(6, 0).bad == 1);
  CHECK(eval.row.unreadable);
  CHECK(eval.row.label == eval.data->label(6));
  CHECK(eval.pixels == Bytes(kImageSide * kImageSide * 3, 0));
  CHECK(eval.make(7, 0).bad == 0);
  CHECK_FALSE(eval.row.unreadable);

  LoaderOptions strict = options_of(true);
  strict.bad_images = BadImages::error;
  Desk desk(strict);
  desk.data->images[static_cast<size_t>(order(0))].resize(60);
  CHECK_THROWS_AS(desk.make(0, 0), DamagedImage);
  CHECK_THROWS_WITH(desk.make(0, 0), Catch::StartsWith(desk.data->name(order(0)) + ": "));
}

namespace {

// Images whose stored indexes take some time to read.
struct FarDataset : MemoryDataset {
  FarDataset() : MemoryDataset(std::vector<Bytes>(70, made_jpeg(0))) {}
  void will_read(int64_t first, int64_t count) const override {
    for (int64_t i = first; i < first + count; ++i) announced.insert(i);
  }
  bool keeps_indexes() const override { return true; }
  bool seek_index(int64_t, jpeg::SeekIndex&) const override {
    read_before = StageClock::here->times().of(Stage::read);
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() == start) {
    }
    return false;
  }
  mutable std::set<int64_t> announced;
  mutable double read_before = -1;  // seconds of reading before seek_index(); -1: not called
};

}  // namespace

TEST_CASE("a worker announces what it will read, and reading an index counts as reading") {
  const auto data = std::make_shared<FarDataset>();
  const LoaderOptions options = options_of(true);
  BadImageLog log({});
  Worker worker(options, log);
  Bytes pixels(kImageSide * kImageSide * 3);
  StageClock clock;
  clock.attach();
  const BatchPlan plan{70, 10, 0, 1, true};
  const DatasetFeed feed(data, 5, 2, true, Order::random, 1, plan);
  Row row;
  worker.make(feed, 0, 0, row, pixels.data());
  StageClock::here = nullptr;
  CHECK(data->announced.size() == Feed::kAhead);
  CHECK(data->announced.contains(feed.sample(1)));
  CHECK(data->read_before >= 0);
  CHECK(clock.times().of(Stage::read) > data->read_before);
}
