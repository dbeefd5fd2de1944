#include "data/jpeg.h"

#include <catch2/catch.hpp>

#include "data/errors.h"
#include "data/random.h"
#include "support.h"

using namespace shoal::data;

namespace {

const char* const kFiles[] = {"baseline_444.jpg", "baseline_422.jpg", "baseline_420.jpg",
                              "progressive.jpg",  "restart.jpg",      "grey.jpg",
                              "cmyk.jpg"};

Bytes cut(const Bytes& whole, const Size& size, const Box& box) {
  Bytes part;
  for (int64_t y = box.top; y < box.top + box.height; ++y) {
    const auto row = whole.begin() + 3 * (y * size.width + box.left);
    part.insert(part.end(), row, row + 3 * box.width);
  }
  return part;
}

}  // namespace

TEST_CASE("a part of a picture has the pixels of the whole, whatever the sampling") {
  KeyedRandom random(9);
  JpegDecoder decoder;
  std::vector<Bytes> files;
  for (const char* name : kFiles) files.push_back(read_golden(std::string("pictures/") + name));
  const Bytes photo = formula_picture({211, 157});
  files.push_back(encode_jpeg(photo.data(), {211, 157}, 90, true));
  files.push_back(encode_jpeg(photo.data(), {211, 157}, 95, false));
  for (const Bytes& file : files) {
    const Size size = decoder.open(file);
    const Bytes whole = read_box(decoder, file, {0, 0, size.width, size.height});
    for (int i = 0; i < 60; ++i) {
      Box box;
      box.width = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(size.width)));
      box.height = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(size.height)));
      box.left =
          static_cast<int64_t>(random.below(static_cast<uint64_t>(size.width - box.width + 1)));
      box.top =
          static_cast<int64_t>(random.below(static_cast<uint64_t>(size.height - box.height + 1)));
      REQUIRE(read_box(decoder, file, box) == cut(whole, size, box));
    }
  }
}

TEST_CASE("a file cut short at any place is damaged, even when the wanted part is there") {
  JpegDecoder decoder;
  for (const char* name : kFiles) {
    const Bytes file = read_golden(std::string("pictures/") + name);
    const Size size = decoder.open(file);
    for (size_t i = 0; i < 200; ++i) {
      const Bytes head(file.begin(),
                       file.begin() + static_cast<int64_t>((file.size() - 1) * i / 199));
      INFO(name << ", " << head.size() << " of " << file.size() << " bytes");
      CHECK_THROWS_AS(read_box(decoder, head, {0, 0, size.width, size.height}), DamagedPicture);
      CHECK_THROWS_AS(read_box(decoder, head, {0, 0, 4, 4}), DamagedPicture);
    }
    CHECK_NOTHROW(
        read_box(decoder, file, {0, 0, size.width, size.height}));  // good again afterwards
  }
}

TEST_CASE("bytes behind the end of a JPEG and between its segments do no harm") {
  JpegDecoder decoder;
  Bytes file = read_golden("pictures/baseline_420.jpg");
  const Bytes clean = read_box(decoder, file, {0, 0, 67, 45});
  file.insert(file.end(), 300, 0);
  CHECK(read_box(decoder, file, {0, 0, 67, 45}) == clean);
  const uint8_t stray[] = {1, 2, 3};
  file.insert(file.begin() + 2, std::begin(stray), std::end(stray));  // before the first segment
  CHECK(read_box(decoder, file, {0, 0, 67, 45}) == clean);
}

TEST_CASE("changed bytes never crash the decoder and often count as damage") {
  KeyedRandom random(4);
  JpegDecoder decoder;
  for (const char* name : kFiles) {
    const Bytes file = read_golden(std::string("pictures/") + name);
    int damaged = 0;
    for (int i = 0; i < 300; ++i) {
      Bytes broken = file;
      for (int k = 0; k < 4; ++k)
        broken[random.below(broken.size())] = static_cast<uint8_t>(random.next());
      try {
        const Size size = decoder.open(broken);
        if (size.width * size.height > 1'000'000) continue;
        read_box(decoder, broken, {0, 0, size.width, size.height});
      } catch (const DamagedPicture&) {
        ++damaged;
      }
    }
    INFO(name << ": " << damaged << " of 300");
    CHECK(damaged > 60);  // other values of pixels or of a table are no damage that can be seen
  }
}

TEST_CASE("a huge stated size is refused before memory is taken for it") {
  JpegDecoder decoder;
  Bytes file = read_golden("pictures/baseline_444.jpg");
  for (size_t i = 0; i + 8 < file.size(); ++i)
    if (file[i] == 0xff && file[i + 1] == 0xc0) {
      for (size_t k = 5; k < 9; ++k) file[i + k] = 0xfd;  // 65021 x 65021
      break;
    }
  CHECK_THROWS_WITH(decoder.open(file), Catch::Contains("out of bounds"));
}
