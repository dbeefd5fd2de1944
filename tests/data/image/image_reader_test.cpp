#include "data/image/image_reader.h"

#include <catch2/catch.hpp>
#include <map>
#include <sstream>

#include "data/errors.h"
#include "data/random.h"
#include "tests/data/support.h"

using namespace shoal::data;

namespace {

struct Golden {
  std::string name;
  Size size;
  Bytes file, pixels;
};

std::vector<Golden> goldens() {
  const Bytes list = read_golden("images.txt"), pixels = read_golden("images.rgb");
  std::istringstream lines(std::string(list.begin(), list.end()));
  std::vector<Golden> all;
  Golden g;
  auto at = pixels.begin();
  while (lines >> g.name >> g.size.width >> g.size.height) {
    g.file = read_golden("images/" + g.name);
    const int64_t bytes = g.size.width * g.size.height * 3;
    g.pixels.assign(at, at + bytes);
    at += bytes;
    all.push_back(g);
  }
  REQUIRE(at == pixels.end());
  return all;
}

}  // namespace

TEST_CASE("every format is recognized by content and has Pillow's pixels", "[single]") {
  ImageReader reader;
  for (const Golden& g : goldens()) {
    INFO(g.name);
    const Size size = reader.open(g.file);
    CHECK(size.width == g.size.width);
    CHECK(size.height == g.size.height);
    const Bytes pixels = read_box(reader, g.file, {0, 0, size.width, size.height});
    CHECK(largest_difference(pixels, g.pixels) == 0);
    const Box box{3, 5, 11, 7};
    const Bytes part = read_box(reader, g.file, box);
    REQUIRE(part.size() == 11 * 7 * 3);
    CHECK(std::equal(part.begin(), part.begin() + 33, pixels.begin() + 3 * (5 * size.width + 3)));
  }
}

TEST_CASE("empty files, text and other formats are damaged images", "[single]") {
  ImageReader reader;
  CHECK_THROWS_WITH(reader.open({}), Catch::Contains("empty"));
  for (const std::string text :
       {"x", "GIF89a", "hello, I am no image at all", "\xff\xd8", "BM", "RIFF", "II*"}) {
    const Bytes bytes(text.begin(), text.end());
    CHECK_THROWS_AS(reader.open(bytes), DamagedImage);
  }
}

TEST_CASE("truncated or changed files of any format never crash the reader", "[single]") {
  KeyedRandom random(8);
  ImageReader reader;
  std::map<std::string, int> refused;
  for (const Golden& g : goldens()) {
    const auto attempt = [&](const Bytes& bytes) {
      try {
        const Size size = reader.open(bytes);
        if (size.width * size.height < 1'000'000)
          read_box(reader, bytes, {0, 0, size.width, size.height});
      } catch (const DamagedImage&) {
        ++refused[g.name];
      }
    };
    for (size_t i = 0; i < 20; ++i)
      attempt(Bytes(g.file.begin(), g.file.begin() + static_cast<int64_t>(g.file.size() * i / 40)));
    CHECK(refused[g.name] == 20);  // a file cut to less than half is always refused
    for (int i = 0; i < 40; ++i) {
      Bytes broken = g.file;
      broken[random.below(broken.size())] = static_cast<uint8_t>(random.next());
      attempt(broken);
    }
  }
}

TEST_CASE("a decompression bomb is refused by its header", "[single]") {
  ImageReader reader;
  Bytes png = read_golden("images/rgb.png");
  for (size_t i = 17; i < 24; ++i) png[i] = i == 20 ? 0 : 0xff;
  CHECK_THROWS_WITH(reader.open(png), Catch::Contains("out of bounds"));
}
