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
  const std::map<std::string, Format> formats = {
      {"jpg", Format::jpeg}, {"png", Format::png},   {"webp", Format::webp},
      {"bmp", Format::bmp},  {"tiff", Format::tiff}, {"pbm", Format::pnm},
      {"pgm", Format::pnm},  {"ppm", Format::pnm},   {"pnm", Format::pnm}};
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
       {"", "BAM", "GIF89a and more", "RIFF____WAVE", "hello", "BMW is the name of a class", "P5",
        "P6 is a class", "P6\n", "P61 2 255 ", "P3\n1 1\n255\n0 0 0\n"}) {
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

TEST_CASE("the numbers in a PNM's header may be far apart, and its pixels may have others behind") {
  Bytes pixels;
  for (const std::string header : {"P6 2 1 255 ", "P6\n2\n1\n255\n", "P6\t\v\f\r 002 1\r255\t",
                                   "P6 # 9 9\n2 # 9\n#\n 1\n255\n", "P6\n#\r2 1 255\r"}) {
    INFO(header);
    // The pixels are "\n#bcde". Their first byte, a line break, looks like a part of the header.
    const Bytes file = bytes_of(header + "\n#bcde and the next image");
    REQUIRE(recognize(file) == Format::pnm);
    const Size size = decode_other(Format::pnm, file, 0, pixels);
    CHECK((size.width == 2 && size.height == 1));
    CHECK(Bytes(pixels.begin(), pixels.begin() + 6) == bytes_of("\n#bcde"));
  }
}

TEST_CASE("the samples of a PNM are scaled to 0 … 255, and larger ones are white") {
  const auto levels = [](const std::string& header, const Bytes& samples) {
    Bytes file = bytes_of(header), pixels;
    file.insert(file.end(), samples.begin(), samples.end());
    const Size size = decode_other(Format::pnm, file, 0, pixels);
    Bytes first;  // the first channel of each pixel
    for (int64_t i = 0; i < size.width * size.height; ++i)
      first.push_back(pixels[static_cast<size_t>(3 * i)]);
    return first;
  };
  CHECK(levels("P5 4 1 3 ", {0, 1, 2, 3}) == Bytes{0, 85, 170, 255});
  CHECK(levels("P5 3 1 1 ", {0, 1, 200}) == Bytes{0, 255, 255});
  CHECK(levels("P5 3 1 254 ", {0, 254, 255}) == Bytes{0, 255, 255});
  // Levels of two bytes, the high byte first. Pillow clips two-byte gray instead of scaling it.
  CHECK(levels("P5 2 2 256 ", {0, 0, 0, 128, 1, 0, 1, 1}) == Bytes{0, 128, 255, 255});
  CHECK(levels("P5 3 1 65535 ", {0x80, 0x00, 0xff, 0xff, 0x00, 0x7f}) == Bytes{128, 255, 0});
  // The most significant bit is the left pixel. A 1 is black. Each row begins with a new byte.
  CHECK(levels("P4 3 2 ", {0x5f, 0x80}) == Bytes{255, 0, 255, 0, 255, 255});
}

TEST_CASE("a PNM with a wrong header, a huge size or missing rows is refused before decoding") {
  const auto reason = [](const std::string& text) -> std::string {
    Bytes pixels;
    try {
      decode_other(Format::pnm, bytes_of(text), 0, pixels);
    } catch (const DamagedImage& error) {
      CHECK(pixels.empty());
      return error.what();
    }
    return "";
  };
  CHECK(reason("P6 1 1 255 abc").empty());
  for (const std::string header : {"P6 ", "P6 1", "P6 1 1 ", "P6 1 1 255", "P6 # 1 1 255 abc"})
    CHECK_THAT(reason(header), Catch::Contains("ends inside its header"));
  for (const std::string file : {"P6 -1 1 255 abc", "P6 1 1 x 255 abc", "P6 1 1 255#abc",
                                 "P6 1x1 255 abc", "P6 0x1 1 255 abc", "P6 1.0 1 255 abc"})
    CHECK_THAT(reason(file), Catch::Contains("number"));
  for (const std::string white : {"0", "65536", "2147483647"})
    CHECK_THAT(reason("P6 1 1 " + white + " abcdef"), Catch::Contains("largest sample"));
  for (const std::string size :
       {"0 1", "1 0", "99999 99999", "2147483647 2147483647", "1 178956971"})
    CHECK_THAT(reason("P5 " + size + " 255 abc"), Catch::Contains("out of bounds"));
  for (const std::string size : {"2147483648 1", "1 99999999999999999999999"})
    CHECK_THAT(reason("P5 " + size + " 255 abc"), Catch::Contains("too large"));
  for (const std::string file : {"P6 1 1 255 ab", "P6 1 1 256 abcde", "P5 2 2 255 abc", "P4 9 1 a",
                                 "P5 13377 13377 65535 abc", "P4 178956970 1 a"})
    CHECK_THAT(reason(file), Catch::Contains("before its last row"));
}
