#include "data/image/formats.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <sstream>

#include "data/errors.h"
#include "tests/data/support.h"

using namespace shoal::data;

namespace {

struct Stored {
  std::string name;
  Size size;
  Format format;
  Bytes bytes;
};

// Returns the golden images of all formats.
std::vector<Stored> stored_images() {
  const std::map<std::string, Format> formats = {{"jpg", Format::jpeg},
                                                 {"png", Format::png},
                                                 {"webp", Format::webp},
                                                 {"bmp", Format::bmp},
                                                 {"tiff", Format::tiff}};
  const Bytes list = read_golden("images.txt");
  std::istringstream lines(std::string(list.begin(), list.end()));
  std::vector<Stored> all;
  Stored one;
  while (lines >> one.name >> one.size.width >> one.size.height) {
    one.format = formats.at(one.name.substr(one.name.rfind('.') + 1));
    one.bytes = read_golden("images/" + one.name);
    all.push_back(one);
  }
  REQUIRE(all.size() > 20);
  return all;
}

Bytes bytes_of(const std::string& text) {
  return Bytes(text.begin(), text.end());
}

}  // namespace

TEST_CASE("formats are recognized by their first bytes, and their headers give the size",
          "[single]") {
  for (const Stored& image : stored_images()) {
    INFO(image.name);
    CHECK(recognize(image.bytes) == image.format);
    if (image.format == Format::jpeg) continue;  // JPEG headers are read elsewhere
    const Size size = stated_size(image.format, image.bytes);
    CHECK(size.width == image.size.width);
    CHECK(size.height == image.size.height);
  }
  for (const std::string text :
       {"", "BAM", "GIF89a and more", "RIFF____WAVE", "hello", "BMW is the name of a class"}) {
    CHECK(recognize(bytes_of(text)) == Format::unknown);
  }
}

TEST_CASE("a truncated header or a header of another format counts as damage", "[single]") {
  for (const Stored& image : stored_images()) {
    if (image.format == Format::jpeg) continue;
    INFO(image.name);
    const Bytes head(image.bytes.begin(), image.bytes.begin() + 12);
    CHECK_THROWS_AS(stated_size(image.format, head), DamagedImage);
  }
  CHECK_THROWS_AS(stated_size(Format::unknown, bytes_of("hello, no image")), DamagedImage);
}

TEST_CASE("a bitmap stored from the top down has a positive height", "[single]") {
  Bytes file = encode_bmp(formula_image({7, 5}), {7, 5});
  const int32_t height = -5;
  for (int i = 0; i < 4; ++i) {
    file[22 + static_cast<size_t>(i)] =
        static_cast<uint8_t>(static_cast<uint32_t>(height) >> (8 * i));
  }
  CHECK(stated_size(Format::bmp, file).width == 7);
  CHECK(stated_size(Format::bmp, file).height == 5);
}

TEST_CASE("a decoded image is at the start of a buffer that keeps its capacity", "[single]") {
  Bytes pixels;
  const Size large{31, 20}, small{7, 5};
  for (const Size& size : {large, small}) {
    const Bytes image = formula_image(size);
    const Size found = decode_other(Format::bmp, encode_bmp(image, size), 64, pixels);
    CHECK(found.width == size.width);
    CHECK(found.height == size.height);
    CHECK(pixels.size() == 31 * 20 * 3 + 64);
    CHECK(std::equal(image.begin(), image.end(), pixels.begin()));
  }
}

TEST_CASE("a size out of bounds is refused before decoding, and damaged pixels are refused",
          "[single]") {
  Bytes pixels;
  Bytes bomb = encode_bmp(formula_image({7, 5}), {7, 5});
  for (const size_t at : {20, 24}) bomb[at] = 0x7f;  // more than 8 million pixels wide and high
  CHECK_THROWS_WITH(decode_other(Format::bmp, bomb, 0, pixels), Catch::Contains("out of bounds"));
  Bytes cut = read_golden("images/rgb.png");
  cut.resize(cut.size() / 4);
  CHECK_THROWS_AS(decode_other(Format::png, cut, 0, pixels), DamagedImage);
}

TEST_CASE("orientations 5 to 8 of a TIFF swap width and height, as in its decoded pixels") {
  const auto size_with = [](uint8_t orientation) {
    Bytes file = {'I', 'I', 42, 0, 8, 0, 0, 0, 3, 0};
    const auto add = [&](uint16_t tag, uint8_t value) {
      for (const int byte : {tag & 255, tag >> 8, 3, 0, 1, 0, 0, 0, int{value}, 0, 0, 0})
        file.push_back(static_cast<uint8_t>(byte));
    };
    add(256, 7);
    add(257, 5);
    add(274, orientation);
    return stated_size(Format::tiff, file);
  };
  for (uint8_t orientation = 1; orientation <= 8; ++orientation) {
    CHECK(size_with(orientation).width == (orientation < 5 ? 7 : 5));
    CHECK(size_with(orientation).height == (orientation < 5 ? 5 : 7));
  }
}
