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
