#include "dist/gradients/gradient_ranges.h"

#include <catch2/catch.hpp>

using namespace shoal::dist;

TEST_CASE("ranges are formed from the end, and have at least the given size") {
  const std::vector<GradientPlace> places = {{0, 4}, {4, 10}, {12, 14}, {14, 30}, {30, 31}};
  CHECK(range_starts(places, 8) == std::vector<size_t>{3, 1, 0});
  CHECK(range_starts(places, 1) == std::vector<size_t>{4, 3, 2, 1, 0});
  CHECK(range_starts(places, 100) == std::vector<size_t>{0});
  CHECK(range_starts({}, 8).empty());
}

TEST_CASE("NCCL uses larger ranges than Gloo, but still several for a large model") {
  constexpr int64_t kMegabyte = 1 << 20;
  for (const int64_t total : {int64_t{1}, 20 * kMegabyte, 500 * kMegabyte})
    CHECK(least_range_bytes(total, false) == 3 * kMegabyte);
  CHECK(least_range_bytes(1, true) == 3 * kMegabyte);
  CHECK(least_range_bytes(20 * kMegabyte, true) == 5 * kMegabyte);
  CHECK(least_range_bytes(500 * kMegabyte, true) == 25 * kMegabyte);
}
