#include "train/report/utc_time.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace shoal::train;

TEST_CASE("a time in a report is read back, and other texts are refused") {
  CHECK(parse_utc_time("1970-01-02T00:00:01.500Z") == 86401.5);
  CHECK(std::abs(parse_utc_time(utc_time()).value() - wall_time()) < 60);
  for (const char* text : {"", "yesterday", "1970-01-02T00:00:01.500", "1970-01-02T00:00:01.500+01",
                           "1970-01-02T00:00:01.500Z and more", "1970-01-02"})
    CHECK_FALSE(parse_utc_time(text));
}
