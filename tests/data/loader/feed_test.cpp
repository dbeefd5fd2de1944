#include "data/loader/feed.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "data/random.h"
#include "tests/data/support.h"

using namespace shoal::data;

TEST_CASE("a training feed follows the epoch's order and keys each sample by seed and epoch") {
  const auto data = made_dataset(17);
  const DatasetFeed feed(data, 5, 3, true);
  const EpochOrder order(17, 5, 3);
  CHECK(feed.size() == 17);
  for (int64_t position = 0; position < 17; ++position) {
    const Ticket ticket = *feed.ticket(position);
    CHECK(ticket.position == position);
    CHECK(ticket.sample == order(position));
    CHECK(feed.sample(position) == order(position));
    CHECK(ticket.key == sample_key(5, 3, order(position)));
    CHECK(feed.key(position) == ticket.key);
    CHECK(ticket.label == data->label(order(position)));
  }
}

TEST_CASE("an evaluation feed follows the listing") {
  const auto data = made_dataset(6);
  const DatasetFeed feed(data, 5, 3, false);
  for (int64_t position = 0; position < 6; ++position) {
    CHECK(feed.ticket(position)->sample == position);
    CHECK(feed.ticket(position)->key == sample_key(5, 3, position));
    CHECK(feed.ticket(position)->label == data->label(position));
  }
}

namespace {

// Counts how often each sample is announced.
struct Announced {
  Feed::WillRead will_read = [this](int64_t first, int64_t number) {
    for (int64_t i = first; i < first + number; ++i) ++times[i];
  };
  std::map<int64_t, int> times;
};

}  // namespace

TEST_CASE("a feed announces each image of its rank, and no other, before it is read") {
  const auto data = std::make_shared<MemoryDataset>(std::vector<Bytes>(1000));
  Announced announced;
  const BatchPlan plan{1000, 8, 1, 3, true};
  const DatasetFeed feed(data, 5, 3, true, Order::random, 1, plan);
  std::set<int64_t> own;
  for (int64_t number = 0; number < plan.batches() * 8; ++number) {
    const int64_t position = plan.position(number);
    CHECK(plan.number(position) == number);
    CHECK((position / 8) % 3 == 1);
    own.insert(feed.sample(position));
    if (number > 0) CHECK(announced.times.contains(feed.sample(position)));
    feed.announce(position, announced.will_read);
  }
  CHECK(announced.times.size() == own.size() - 1);  // the first image cannot be announced
  for (const auto& [sample, times] : announced.times) CHECK((own.contains(sample) && times == 1));
}

TEST_CASE("a chunked order announces each image, in the first window and after it") {
  constexpr int64_t kImages = 3 * ChunkedOrder::kWindow;
  const auto data = std::make_shared<MemoryDataset>(std::vector<Bytes>(kImages));
  Announced announced;
  const DatasetFeed feed(data, 5, 3, true, Order::chunked, 1, BatchPlan{kImages, 8, 0, 1, true});
  int64_t missed = 0;
  for (int64_t position = 0; position < kImages; ++position) {
    missed += !announced.times.contains(feed.sample(position));
    feed.announce(position, announced.will_read);
  }
  CHECK(missed == 1);  // only the first image of the epoch
}

TEST_CASE("with three hosts and chunked order, each host announces its own images") {
  constexpr int64_t kImages = 3 * ChunkedOrder::kWindow;
  const auto data = std::make_shared<MemoryDataset>(std::vector<Bytes>(kImages));
  Announced announced;
  const BatchPlan plan{kImages, 8, 1, 3, true, 3};
  const DatasetFeed feed(data, 5, 3, true, Order::chunked, 1, plan);
  std::set<int64_t> own;
  int64_t missed = 0;
  for (int64_t number = 0; number < plan.batches() * 8; ++number) {
    const int64_t position = plan.position(number);
    own.insert(feed.sample(position));
    missed += !announced.times.contains(feed.sample(position));
    feed.announce(position, announced.will_read);
  }
  CHECK(missed == 1);  // only the first image of the epoch
  for (const auto& [sample, times] : announced.times) CHECK((own.contains(sample) && times == 1));
}

TEST_CASE("no two samples, epochs or seeds share a key") {
  const auto data = made_dataset(10);
  std::set<uint64_t> keys;
  for (const uint64_t seed : {0, 1}) {
    for (const int64_t epoch : {0, 1, 2}) {
      const DatasetFeed feed(data, seed, epoch, true);
      for (int64_t position = 0; position < 10; ++position) keys.insert(feed.key(position));
    }
  }
  CHECK(keys.size() == 60);
}

TEST_CASE("a repeated image appears as often as requested, each time with another key") {
  constexpr int64_t kImages = 192, kRepeats = 3;
  const auto data = made_dataset(kImages);
  const DatasetFeed feed(data, 5, 3, true, Order::random, kRepeats);
  const EpochOrder order(kImages, 5, 3);
  std::map<int64_t, int> times;
  std::set<uint64_t> keys;
  std::set<std::pair<int64_t, int64_t>> pairs;
  for (int64_t position = 0; position < kImages; ++position) {
    const Ticket ticket = *feed.ticket(position);
    CHECK(ticket.sample == feed.sample(position));
    CHECK(ticket.key == feed.key(position));
    CHECK(ticket.label == data->label(ticket.sample));
    ++times[ticket.sample];
    keys.insert(ticket.key);
    if (position % 2 == 0) {
      CHECK(feed.sample(position + 1) != ticket.sample);  // an image is mixed with a different one
      pairs.insert({ticket.sample, feed.sample(position + 1)});
    }
  }
  CHECK(keys.size() == kImages);
  CHECK(pairs.size() == kImages / 2);  // all pairs are different
  CHECK(times.size() == kImages / kRepeats);
  for (int64_t i = 0; i < kImages / kRepeats; ++i) CHECK(times[order(i)] == kRepeats);
}

TEST_CASE("a dataset smaller than a block can be repeated, and evaluation repeats nothing") {
  const auto data = made_dataset(5);
  for (int64_t position = 0; position < 5; ++position) {
    const int64_t sample = DatasetFeed(data, 1, 0, true, Order::random, 4).sample(position);
    CHECK((sample >= 0 && sample < 5));
    CHECK(DatasetFeed(data, 1, 0, false, Order::random, 4).ticket(position)->sample == position);
    CHECK(DatasetFeed(data, 1, 0, false, Order::random, 4).key(position) ==
          sample_key(1, 0, position));
  }
}

TEST_CASE("the plans of all ranks have the same number of batches and cover every position once") {
  constexpr int64_t kBatch = 4;
  for (const int64_t samples : {1, 23, 24, 25, 100}) {
    for (const int64_t world : {1, 2, 3, 5}) {
      for (const bool drop_last : {false, true}) {
        INFO(samples << " samples, " << world << " ranks" << (drop_last ? ", drop last" : ""));
        const int64_t global = kBatch * world;
        const int64_t batches = drop_last ? samples / global : (samples + global - 1) / global;
        std::vector<int> seen(static_cast<size_t>(samples), 0);
        for (int64_t rank = 0; rank < world; ++rank) {
          const BatchPlan plan{samples, kBatch, rank, world, drop_last};
          REQUIRE(plan.batches() == batches);
          for (int64_t batch = 0; batch < batches; ++batch) {
            REQUIRE(plan.first_position(batch) == batch * global + rank * kBatch);
            if (drop_last) REQUIRE(plan.count(batch) == kBatch);
            for (int64_t i = 0; i < plan.count(batch); ++i) {
              ++seen.at(static_cast<size_t>(plan.first_position(batch) + i));
            }
          }
        }
        const int64_t covered = drop_last ? batches * global : samples;
        for (int64_t i = 0; i < samples; ++i) {
          REQUIRE(seen[static_cast<size_t>(i)] == (i < covered ? 1 : 0));
        }
      }
    }
  }
}
