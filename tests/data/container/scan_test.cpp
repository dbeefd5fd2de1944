#include "data/container/scan.h"

#include <catch2/catch.hpp>

using namespace shoal::data;

// With a linear search for each label, this would take many minutes.
TEST_CASE("the labels of a scan are found in linear time, in any order", "[single]") {
  constexpr int32_t kLabels = 500'000;
  Scan scan;
  for (int32_t i = 0; i < kLabels; ++i) REQUIRE(scan.place_of("label " + std::to_string(i)) == i);
  for (int64_t i = 0; i < kLabels; ++i) {
    const int64_t other = i * 7'919 % kLabels;
    REQUIRE(scan.place_of("label " + std::to_string(other)) == other);
  }
  CHECK(scan.texts.size() == kLabels);
}
