#include "base/normalization.h"

#include <catch2/catch.hpp>
#include <stdexcept>

using namespace shoal;

TEST_CASE("mean and standard deviation are one number or three, separated by commas or blanks") {
  const ChannelValues three = {0.5, 0.25, 1};
  CHECK(parse_mean("0.5,0.25,1") == three);
  CHECK(parse_mean("0.5 0.25 1") == three);  // timm's syntax
  CHECK(parse_mean("0.5, 0.25, 1") == three);
  CHECK(parse_mean("0") == ChannelValues{0, 0, 0});
  CHECK(parse_std("0.25") == ChannelValues{0.25, 0.25, 0.25});
  for (const char* text : {"", "0.5,0.25", "0.5,0.25,1,0.5", "123.675", "-0.1", "0.5,x,0.5", "nan"})
    CHECK_THROWS_AS(parse_mean(text), std::invalid_argument);
  CHECK_THROWS_WITH(parse_std("0.2,0,0.2"), Catch::Contains("above 0"));
}

TEST_CASE("channel values read back from their text") {
  const ChannelValues lite = {127.0 / 255, 128.0 / 255, 0.406};
  CHECK(parse_mean(text_of(lite)) == lite);
  CHECK(text_of(Normalization().mean) == "0.485,0.456,0.406");
  CHECK(text_of({0.5, 0.5, 0.5}) == "0.5");
}

TEST_CASE("gray images use the average over the channels") {
  const ChannelValues mean = averaged(Normalization().mean);
  for (const double value : mean) CHECK(value == Approx(0.449));
  CHECK(averaged({0.4, 0.4, 0.4}) == ChannelValues{0.4, 0.4, 0.4});
  CHECK(text_of(averaged({0.1, 0.2, 0.3})) == "0.2");
  CHECK(text_of(averaged(Normalization().std)) == "0.226");
}
