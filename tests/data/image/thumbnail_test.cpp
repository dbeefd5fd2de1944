#include "data/image/thumbnail.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "data/image/image_reader.h"
#include "tests/data/support.h"

using namespace shoal::data;

TEST_CASE("a thumbnail keeps the proportions and colors of its image") {
  const auto channels = GENERATE(1, 3);
  const Size size{300, 150};
  std::vector<uint8_t> pixels;  // dark on the left, bright on the right; blue is always 40
  for (int64_t y = 0; y < size.height; ++y)
    for (int64_t x = 0; x < size.width; ++x)
      for (int c = 0; c < channels; ++c)
        pixels.push_back(static_cast<uint8_t>(c == 2 ? 40 : 200 * x / size.width));
  const std::vector<uint8_t> jpeg = thumbnail(pixels.data(), size, channels);
  ImageReader reader;
  const Size small = reader.open(jpeg);
  REQUIRE(small.width == kThumbnailSide);
  REQUIRE(small.height == kThumbnailSide / 2);
  reader.start({0, 0, small.width, small.height}, 0);
  for (RowBlock rows = reader.next(); rows.count > 0; rows = reader.next())
    for (int64_t x = 4; x < small.width - 4; ++x) {
      const uint8_t* pixel = rows.data + 3 * x;
      const auto gray = static_cast<int>(200 * x / small.width);
      CHECK(std::abs(pixel[0] - gray) < 12);
      CHECK(std::abs(pixel[2] - (channels == 3 ? 40 : gray)) < 16);
    }
}

TEST_CASE("a thumbnail of a small image has the image's size") {
  const std::vector<uint8_t> pixels(size_t{3} * 7 * 5, 90),
      jpeg = thumbnail(pixels.data(), {7, 5}, 3);
  const Size small = ImageReader().open(jpeg);
  CHECK(small.width == 7);
  CHECK(small.height == 5);
}
