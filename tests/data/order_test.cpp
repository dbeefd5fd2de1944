#include "data/order.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

using namespace shoal::data;

namespace {

std::vector<int64_t> all(int64_t n, uint64_t seed, int64_t epoch) {
  const EpochOrder order(n, seed, epoch);
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < n; ++i) samples.push_back(order(i));
  return samples;
}

}  // namespace

TEST_CASE("the order is a permutation for awkward sizes") {
  for (const int64_t n :
       {1, 2, 3, 4, 5, 7, 9, 10, 31, 64, 97, 100, 255, 256, 257, 1000, 4099, 65537}) {
    std::vector<bool> seen(static_cast<size_t>(n), false);
    for (const int64_t sample : all(n, 11, 3)) {
      REQUIRE((sample >= 0 && sample < n));
      REQUIRE_FALSE(seen[static_cast<size_t>(sample)]);
      seen[static_cast<size_t>(sample)] = true;
    }
  }
}

TEST_CASE("the order differs by seed and by epoch and is the same in every version") {
  CHECK(all(1000, 1, 0) == all(1000, 1, 0));
  CHECK(all(1000, 1, 0) != all(1000, 2, 0));
  CHECK(all(1000, 1, 0) != all(1000, 1, 1));
  const EpochOrder order(1281167, 0, 0);
  CHECK(std::vector<int64_t>{order(0), order(1), order(2), order(1281166)} ==
        std::vector<int64_t>{789642, 301320, 105119, 723329});
  CHECK(all(7, 5, 2) == std::vector<int64_t>{2, 3, 5, 6, 0, 1, 4});
}

TEST_CASE("all permutations of four samples are about equally likely") {
  std::map<std::vector<int64_t>, int> counts;
  const int n = 48'000;
  for (int seed = 0; seed < n; ++seed) ++counts[all(4, static_cast<uint64_t>(seed), 0)];
  REQUIRE(counts.size() == 24);
  double chi = 0;
  for (const auto& [order, count] : counts)
    chi += (count - n / 24.0) * (count - n / 24.0) / (n / 24.0);
  CHECK(chi < 80);  // 23 degrees of freedom; a shuffle of so few samples is slightly uneven
}

TEST_CASE("neighbors in the order are independent positions in the listing") {
  const int64_t n = 100'000;
  const auto samples = all(n, 0, 0);
  double distance = 0, correlation = 0;
  for (int64_t i = 0; i + 1 < n; ++i) {
    distance += static_cast<double>(std::abs(samples[i] - samples[i + 1]));
    correlation += (static_cast<double>(i) / n - 0.5) * (static_cast<double>(samples[i]) / n - 0.5);
  }
  CHECK(distance / n / n == Approx(1.0 / 3).epsilon(0.02));  // as for independent uniform draws
  CHECK(std::abs(12 * correlation / n) < 0.015);
}

namespace {

std::vector<int64_t> chunked(int64_t n, uint64_t seed, int64_t epoch) {
  const ChunkedOrder order(n, seed, epoch);
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < n; ++i) samples.push_back(order(i));
  return samples;
}

}  // namespace

TEST_CASE("the chunked order is a permutation for awkward sizes") {
  for (const int64_t n : {1, 2, 15, 16, 17, 100, 8191, 8192, 8193, 8208, 50'000}) {
    std::vector<bool> seen(static_cast<size_t>(n), false);
    for (const int64_t sample : chunked(n, 11, 3)) {
      REQUIRE((sample >= 0 && sample < n));
      REQUIRE_FALSE(seen[static_cast<size_t>(sample)]);
      seen[static_cast<size_t>(sample)] = true;
    }
  }
}

TEST_CASE("the chunked order differs by seed and by epoch and is the same in every version") {
  CHECK(chunked(1000, 1, 0) == chunked(1000, 1, 0));
  CHECK(chunked(1000, 1, 0) != chunked(1000, 2, 0));
  CHECK(chunked(1000, 1, 0) != chunked(1000, 1, 1));
  const ChunkedOrder order(1281167, 0, 0);
  CHECK(std::vector<int64_t>{order(0), order(1), order(2), order(1281166)} ==
        std::vector<int64_t>{669085, 407342, 332740, 300200});
}

TEST_CASE("a window of the chunked order reads whole chunks, which ahead() names in advance") {
  const int64_t n = 100'000, window = ChunkedOrder::kWindow, chunk = ChunkedOrder::kChunk;
  const ChunkedOrder order(n, 4, 2);
  std::vector<bool> announced(static_cast<size_t>(n), false);
  for (int64_t at = 0; at < window; at += chunk) {
    const auto [first, count] = order.ahead(at);
    REQUIRE(count == chunk);
    for (int64_t i = 0; i < count; ++i) announced[static_cast<size_t>((first + i) % n)] = true;
  }
  for (int64_t at = window; at < 2 * window; ++at)
    REQUIRE(announced[static_cast<size_t>(order(at))]);
  CHECK(order.ahead(n / window * window).count == 0);
}

TEST_CASE("a batch in the chunked order has as many classes as data/order.h states") {
  const int64_t n = 1'281'000, of_class = 1281, batch = 256;
  const auto classes = [&](const auto& order) {
    double sum = 0;
    for (int64_t i = 0; i < 200; ++i) {
      std::set<int64_t> met;
      for (int64_t j = 0; j < batch; ++j) met.insert(order(i * 6000 + j) / of_class);
      sum += static_cast<double>(met.size());
    }
    return sum / 200;
  };
  CHECK(classes(EpochOrder(n, 0, 0)) == Approx(226).margin(2));
  CHECK(classes(ChunkedOrder(n, 0, 0)) == Approx(185).margin(3));
}
