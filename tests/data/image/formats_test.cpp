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

// The golden pictures of all formats.
std::vector<Stored> stored_pictures() {
  const std::map<std::string, Format> formats = {{"jpg", Format::jpeg},
                                                 {"png", Format::png},
                                                 {"webp", Format::webp},
                                                 {"bmp", Format::bmp},
                                                 {"tiff", Format::tiff}};
  const Bytes list = read_golden("pictures.txt");
  std::istringstream lines(std::string(list.begin(), list.end()));
  std::vector<Stored> all;
  Stored one;
  while (lines >> one.name >> one.size.width >> one.size.height) {
    one.format = formats.at(one.name.substr(one.name.rfind('.') + 1));
    one.bytes = read_golden("pictures/" + one.name);
    all.push_back(one);
  }
  REQUIRE(all.size() > 20);
  return all;
}

Bytes bytes_of(const std::string& text) {
  return Bytes(text.begin(), text.end());
}

}  // namespace

TEST_CASE("a format is known by its first bytes and its header states the size", "[single]") {
  for (const Stored& picture : stored_pictures()) {
    INFO(picture.name);
    CHECK(recognise(picture.bytes) == picture.format);
    if (picture.format == Format::jpeg) continue;  // its header is libjpeg-turbo's business
    const Size size = stated_size(picture.format, picture.bytes);
    CHECK(size.width == picture.size.width);
    CHECK(size.height == picture.size.height);
  }
  for (const std::string text : {"", "BAM", "GIF89a and more", "RIFF____WAVE", "hello"}) {
    CHECK(recognise(bytes_of(text)) == Format::unknown);
  }
}

TEST_CASE("a header that is cut short or of another format is damage", "[single]") {
  for (const Stored& picture : stored_pictures()) {
    if (picture.format == Format::jpeg) continue;
    INFO(picture.name);
    const Bytes head(picture.bytes.begin(), picture.bytes.begin() + 12);
    CHECK_THROWS_AS(stated_size(picture.format, head), DamagedPicture);
  }
  CHECK_THROWS_AS(stated_size(Format::unknown, bytes_of("hello, no picture")), DamagedPicture);
}

TEST_CASE("a bitmap stored from the top down has a positive height", "[single]") {
  Bytes file = encode_bmp(formula_picture({7, 5}), {7, 5});
  const int32_t height = -5;
  for (int i = 0; i < 4; ++i) {
    file[22 + static_cast<size_t>(i)] =
        static_cast<uint8_t>(static_cast<uint32_t>(height) >> (8 * i));
  }
  CHECK(stated_size(Format::bmp, file).width == 7);
  CHECK(stated_size(Format::bmp, file).height == 5);
}

TEST_CASE("a decoded picture lies at the front of a buffer that keeps its size", "[single]") {
  Bytes pixels;
  const Size large{31, 20}, small{7, 5};
  for (const Size& size : {large, small}) {
    const Bytes picture = formula_picture(size);
    const Size found = decode_other(Format::bmp, encode_bmp(picture, size), 64, pixels);
    CHECK(found.width == size.width);
    CHECK(found.height == size.height);
    CHECK(pixels.size() == 31 * 20 * 3 + 64);
    CHECK(std::equal(picture.begin(), picture.end(), pixels.begin()));
  }
}

TEST_CASE("a size out of bounds is refused before the picture is unpacked, and so are bad pixels",
          "[single]") {
  Bytes pixels;
  Bytes bomb = encode_bmp(formula_picture({7, 5}), {7, 5});
  for (const size_t at : {20, 24}) bomb[at] = 0x7f;  // more than eight million pixels each way
  CHECK_THROWS_WITH(decode_other(Format::bmp, bomb, 0, pixels), Catch::Contains("out of bounds"));
  Bytes cut = read_golden("pictures/rgb.png");
  cut.resize(cut.size() / 4);
  CHECK_THROWS_AS(decode_other(Format::png, cut, 0, pixels), DamagedPicture);
}
