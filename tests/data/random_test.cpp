#include "data/random.h"

#include <array>
#include <catch2/catch.hpp>
#include <set>

using namespace shoal::data;

TEST_CASE("keys and draws never change, so that runs continue across builds") {
  CHECK(sample_key(1, 2, 3) == 0xc74653be8c98d420ULL);
  KeyedRandom random(42);
  CHECK(random.next() == 0xbdd732262feb6e95ULL);
  CHECK(random.next() == 0x28efe333b266f103ULL);
}

TEST_CASE("keys differ by seed, epoch, sample and purpose") {
  std::set<uint64_t> keys;
  for (uint64_t seed = 0; seed < 10; ++seed)
    for (int64_t epoch = 0; epoch < 10; ++epoch)
      for (int64_t sample = 0; sample < 10; ++sample) keys.insert(sample_key(seed, epoch, sample));
  keys.insert(make_key(Purpose::order, 0, 0, 0));
  CHECK(keys.size() == 1001);
}

TEST_CASE("bounded integers are uniform and within the range") {
  KeyedRandom random(7);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60'000; ++i) ++counts.at(random.below(6));
  for (const int count : counts) CHECK(count == Approx(10'000).margin(500));
  // Without rejection, every third value of this range would be drawn twice as often as the others.
  const uint64_t huge = 3ULL << 62;
  int thirds = 0;
  for (int i = 0; i < 30'000; ++i) {
    const uint64_t value = random.below(huge);
    REQUIRE(value < huge);
    thirds += value % 3 == 0;
  }
  CHECK(thirds == Approx(10'000).margin(500));
}

TEST_CASE("uniform, normal and beta draws have the right moments") {
  KeyedRandom random(3);
  const int n = 200'000;
  double uniform = 0, normal = 0, square = 0;
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform();
    REQUIRE((u >= 0 && u < 1));
    uniform += u;
    const double z = random.normal();
    normal += z;
    square += z * z;
  }
  CHECK(uniform / n == Approx(0.5).margin(0.005));
  CHECK(normal / n == Approx(0).margin(0.01));
  CHECK(square / n == Approx(1).margin(0.02));
  for (const double alpha : {0.1, 0.2, 1.0, 4.0}) {
    double sum = 0, squares = 0;
    for (int i = 0; i < n; ++i) {
      const double x = random.beta(alpha);
      REQUIRE((x >= 0 && x <= 1));
      sum += x;
      squares += (x - 0.5) * (x - 0.5);
    }
    CHECK(sum / n == Approx(0.5).margin(0.005));
    const double variance = 1 / (4 * (2 * alpha + 1));  // variance of Beta(alpha, alpha)
    CHECK(squares / n == Approx(variance).epsilon(0.02));
  }
}

TEST_CASE("beta is finite even if gamma variates are below the smallest double") {
  KeyedRandom random(5);
  for (int i = 0; i < 1000; ++i) {
    const double x = random.beta(0.0005);
    REQUIRE((x >= 0 && x <= 1));
  }
}
