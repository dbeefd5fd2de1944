#include "data/loader/balance.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <set>

#include "data/loader/feed.h"
#include "data/loader/loader.h"
#include "tests/data/support.h"

using namespace shoal::data;
using Counts = std::vector<int64_t>;

namespace {

// A dataset whose classes have the given numbers of images. Images of a class are not neighbors.
class Unbalanced : public MemoryDataset {
 public:
  explicit Unbalanced(const Counts& images) : MemoryDataset({}, std::ssize(images)) {
    Counts left = images;
    for (bool any = true; any;) {
      any = false;
      for (size_t c = 0; c < left.size(); ++c) {
        if (left[c] == 0) continue;
        any = true;
        --left[c];
        labels_.push_back(static_cast<int32_t>(c));
      }
    }
    for (size_t i = 0; i < labels_.size(); ++i)
      this->images.push_back(made_jpeg(static_cast<int64_t>(i)));
  }
  int32_t label(int64_t sample) const override { return labels_[static_cast<size_t>(sample)]; }

 private:
  std::vector<int32_t> labels_;
};

std::shared_ptr<const Unbalanced> unbalanced(const Counts& images) {
  return std::make_shared<const Unbalanced>(images);
}

// How often each image, and each class, is used.
struct Uses {
  Counts images, classes;
};

void add_epoch(const ClassBalance& balance, const Dataset& data, int64_t epoch, Uses& uses) {
  uses.images.resize(static_cast<size_t>(data.size()), 0);
  uses.classes.resize(data.classes().size(), 0);
  for (int64_t slot = 0; slot < balance.length(); ++slot) {
    const auto [sample, repetition] = balance.draw(slot, epoch);
    ++uses.images[static_cast<size_t>(sample)];
    ++uses.classes[static_cast<size_t>(data.label(sample))];
  }
}

// Checks that the images of each class are used equally often, within 1.
void check_even(const Uses& uses, const Dataset& data) {
  for (int32_t c = 0; c < std::ssize(data.classes()); ++c) {
    Counts of_class;
    for (int64_t i = 0; i < data.size(); ++i)
      if (data.label(i) == c) of_class.push_back(uses.images[static_cast<size_t>(i)]);
    if (of_class.empty()) continue;
    const auto [least, most] = std::minmax_element(of_class.begin(), of_class.end());
    CHECK(*most - *least <= 1);
  }
}

LoaderOptions balanced(double balance, int64_t batch_size, int64_t rank = 0, int64_t world = 1) {
  LoaderOptions options;
  options.seed = 7;
  options.balance = balance;
  options.batch_size = batch_size;
  options.rank = rank;
  options.world_size = world;
  options.batches = 48 / (batch_size * world);  // an epoch uses 48 of 50 positions
  options.transform.size = 16;
  options.transform.eval_resize = 16;
  options.transform.eval_size = 16;
  return options;
}

using Rows = std::vector<std::pair<int32_t, uint64_t>>;  // label, key

Rows rows_of(const std::shared_ptr<const Dataset>& data, const LoaderOptions& options,
             int64_t epoch, int64_t first_batch = 0) {
  Loader loader(data, options);
  loader.start_epoch(epoch, first_batch);
  Rows rows;
  while (const Batch* batch = loader.next())
    for (const Row& row : batch->rows) rows.emplace_back(row.label, row.key);
  return rows;
}

}  // namespace

TEST_CASE("a balanced epoch uses each class equally often, and never changes its length") {
  for (const int64_t length : {1, 7, 100, 1000, 1003}) {
    const Counts counts = balanced_counts({900, 90, 0, 9, 1}, 1, length, 3);
    CHECK(std::accumulate(counts.begin(), counts.end(), int64_t{0}) == length);
    CHECK(counts[2] == 0);
    for (const size_t c : {0, 1, 3, 4}) CHECK(std::abs(counts[c] - length / 4) <= 1);
  }
  CHECK(balanced_counts({900, 90, 0, 9, 1}, 0, 1000, 3) == Counts{900, 90, 0, 9, 1});
  CHECK(balanced_counts({400, 100, 0}, 0.5, 300, 3) ==
        Counts{200, 100, 0});  // in the ratio of the square roots, 20 to 10
  CHECK(balanced_counts({5, 5, 5}, 1, 10, 3) == balanced_counts({5, 5, 5}, 1, 10, 3));
  std::set<Counts> drawn;  // the seed decides which class gets one image more
  for (uint64_t seed = 0; seed < 40; ++seed) drawn.insert(balanced_counts({5, 5, 5}, 1, 10, seed));
  CHECK(drawn == std::set<Counts>{{4, 3, 3}, {3, 4, 3}, {3, 3, 4}});
}

TEST_CASE("images of a class are used equally often in each epoch, and over all epochs") {
  const auto data = unbalanced({61, 1, 13, 0, 4});
  for (const double balance : {1.0, 0.5, 0.1}) {
    const ClassBalance order(*data, balance, 77, 5);
    Uses all;
    for (int64_t epoch = 0; epoch < 9; ++epoch) {
      Uses uses;
      add_epoch(order, *data, epoch, uses);
      CHECK(uses.classes == balanced_counts(class_counts(*data), balance, 77, 5));
      check_even(uses, *data);
      add_epoch(order, *data, epoch, all);
      check_even(all, *data);
    }
    CHECK(*std::min_element(all.images.begin(), all.images.end()) > 0);
  }
}

TEST_CASE("an image that an epoch uses again has another key each time") {
  const auto data = unbalanced({30, 3, 1});
  const DatasetFeed feed(data, 5, 2, true, Order::random, 1, {},
                         std::make_shared<const ClassBalance>(*data, 1, 33, 5));
  CHECK(feed.size() == 33);
  std::set<uint64_t> keys;
  std::map<int32_t, int64_t> times;
  std::vector<int32_t> labels;
  for (int64_t position = 0; position < 33; ++position) {
    const Ticket ticket = *feed.ticket(position);
    CHECK(ticket.sample == feed.sample(position));
    CHECK(ticket.key == feed.key(position));
    CHECK(ticket.label == data->label(ticket.sample));
    keys.insert(ticket.key);
    ++times[ticket.label];
    labels.push_back(ticket.label);
  }
  CHECK(keys.size() == 33);
  CHECK(times == std::map<int32_t, int64_t>{{0, 11}, {1, 11}, {2, 11}});
  CHECK_FALSE(std::is_sorted(labels.begin(), labels.end()));  // the classes are mixed
}

TEST_CASE(
    "one, two and three ranks use the same balanced images; a resumed epoch goes on exactly") {
  const auto data = unbalanced({40, 8, 2});
  for (const int64_t epoch : {0, 5}) {
    const Rows whole = rows_of(data, balanced(1, 12), epoch);
    REQUIRE(whole.size() == 48);
    std::map<int32_t, int64_t> times;
    for (const auto& [label, key] : whole) ++times[label];
    CHECK(times == std::map<int32_t, int64_t>{{0, 16}, {1, 16}, {2, 16}});
    for (const int64_t world : {2, 3}) {
      std::vector<Rows> parts;
      for (int64_t rank = 0; rank < world; ++rank)
        parts.push_back(rows_of(data, balanced(1, 12 / world, rank, world), epoch));
      Rows together;
      for (size_t batch = 0; batch < 4; ++batch)
        for (const Rows& part : parts) {
          const auto begin = part.begin() + static_cast<std::ptrdiff_t>(batch) * 12 / world;
          together.insert(together.end(), begin, begin + 12 / world);
        }
      CHECK(together == whole);
    }
    const Rows rest = rows_of(data, balanced(1, 12), epoch, 2);
    CHECK(rest == Rows(whole.begin() + 24, whole.end()));
  }
}

TEST_CASE("a loader refuses balance together with chunks, repeats or a number above 1") {
  const auto data = unbalanced({40, 8, 2});
  const auto refused = [&](const std::function<void(LoaderOptions&)>& change) {
    LoaderOptions options = balanced(1, 12);
    change(options);
    CHECK_THROWS_AS(Loader(data, options), std::invalid_argument);
  };
  refused([](LoaderOptions& o) { o.balance = 1.5; });
  refused([](LoaderOptions& o) { o.order = Order::chunked; });
  refused([](LoaderOptions& o) { o.repeats = 2; });
}
