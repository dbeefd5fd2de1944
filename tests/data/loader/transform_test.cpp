#include "data/loader/transform.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "data/errors.h"
#include "data/image/crop.h"
#include "tests/data/support.h"

using namespace shoal::data;

TEST_CASE("the evaluation row is torchvision's resize and center crop, bit for bit", "[single]") {
  const Bytes list = read_golden("resize.txt"), golden = read_golden("resize_13.bin");
  std::istringstream cases(std::string(list.begin(), list.end()));
  std::string what, filter;
  int64_t width, height, a, b, checked = 0;
  auto at = golden.begin();
  while (cases >> what >> filter >> width >> height >> a >> b) {
    const int64_t bytes = what == "eval" ? b * b * 3 : a * b * 3;
    const Bytes expected(at, at + bytes);
    at += bytes;
    if (what != "eval") continue;
    TransformOptions options;
    options.eval_resize = a;
    options.eval_size = b;
    options.interpolation = filter == "bilinear" ? Interpolation::bilinear : Interpolation::bicubic;
    Transform transform(options);
    Bytes row(static_cast<size_t>(bytes), 77);
    transform.evaluation_row(encode_bmp(formula_image({width, height}), {width, height}),
                             row.data());
    INFO(filter << " " << width << "x" << height << ", resize " << a << ", crop " << b);
    CHECK(largest_difference(row, expected) == 0);
    ++checked;
  }
  CHECK(checked == 14);
}

TEST_CASE("a training row is the crop that its key selects, resized and flipped", "[single]") {
  const Size size{90, 70};
  const Bytes image = formula_image(size), file = encode_bmp(image, size);
  TransformOptions options;
  options.size = 32;
  Transform transform(options);
  int flips = 0;
  for (uint64_t key = 0; key < 200; ++key) {
    Bytes row(32 * 32 * 3);
    transform.training_row(file, key, row.data());

    KeyedRandom random(shoal::combine(key, static_cast<uint64_t>(Purpose::crop)));
    const bool flip = random.uniform() < 0.5;
    flips += flip;
    const Box box = random_resized_crop(size, options, random);
    // Cut the box out first, then resize it as a separate image: pixels outside the box must not
    // contribute.
    Bytes piece;
    for (int64_t y = 0; y < box.height; ++y) {
      const auto from = image.begin() + 3 * ((box.top + y) * size.width + box.left);
      piece.insert(piece.end(), from, from + 3 * box.width);
    }
    piece.resize(piece.size() + 4096);
    Resizer resizer(Isa::portable);
    resizer.begin({box.width, 32, 0, 32, flip}, {box.height, 32, 0, 32, false},
                  options.interpolation);
    const Box needed = resizer.needed();
    resizer.push(
        {piece.data() + 3 * (needed.top * box.width + needed.left), 3 * box.width, needed.height});
    Bytes expected(row.size());
    resizer.finish(expected.data(), 96);
    REQUIRE(row == expected);
  }
  CHECK(flips == Approx(100).margin(35));
}

TEST_CASE("rows of JPEGs do not depend on earlier images", "[single]") {
  const TransformOptions options;
  Transform used(options);
  Bytes a(224 * 224 * 3), b(224 * 224 * 3);
  for (int64_t i = 0; i < 12; ++i) {
    const Bytes file = made_jpeg(i, {40 + 37 * i, 300 - 20 * i});
    used.training_row(file, static_cast<uint64_t>(i), a.data());
    Transform fresh(options);
    fresh.training_row(file, static_cast<uint64_t>(i), b.data());
    CHECK(a == b);
    CHECK_THROWS_AS(used.evaluation_row(Bytes(file.begin(), file.begin() + 300), b.data()),
                    DamagedImage);
  }
}

TEST_CASE("invalid settings are refused", "[single]") {
  TransformOptions options;
  CHECK_NOTHROW(check_transform(options));
  options.scale_min = 0;
  CHECK_THROWS_AS(check_transform(options), std::invalid_argument);
  options = {};
  options.size = 0;
  CHECK_THROWS_AS(check_transform(options), std::invalid_argument);
  options = {};
  options.hflip = 1.5;
  CHECK_THROWS_AS(check_transform(options), std::invalid_argument);
  options = {};
  options.channels = 2;
  CHECK_THROWS_AS(check_transform(options), std::invalid_argument);
}

TEST_CASE("ten views are five crops and their mirror images", "[single]") {
  const Size size{60, 40};
  const Bytes image = formula_image(size), file = encode_bmp(image, size);
  TransformOptions options;
  options.eval_resize = 40;
  options.eval_size = 16;
  options.eval_views = Views::ten;
  Bytes views(10 * 16 * 16 * 3);
  Transform(options).evaluation_row(file, views.data());
  const int64_t lefts[] = {22, 0, 44, 0, 44}, tops[] = {12, 0, 0, 24, 24};
  for (int64_t i = 0; i < 10; ++i)
    for (int64_t y = 0; y < 16; ++y)
      for (int64_t x = 0; x < 16; ++x) {
        const int64_t column = lefts[i / 2] + (i % 2 == 0 ? x : 15 - x), row = tops[i / 2] + y;
        const auto got = views.begin() + 3 * ((i * 16 + y) * 16 + x);
        const auto expected = image.begin() + 3 * (row * size.width + column);
        REQUIRE(std::equal(got, got + 3, expected));
      }
  for (const auto& [few, step] : {std::pair{Views::five, 2}, std::pair{Views::flip, 1}}) {
    options.eval_views = few;
    Bytes some(static_cast<size_t>(count_of(few)) * 16 * 16 * 3);
    Transform(options).evaluation_row(file, some.data());
    for (int64_t i = 0; i < count_of(few); ++i)
      CHECK(Bytes(some.begin() + i * 768, some.begin() + (i + 1) * 768) ==
            Bytes(views.begin() + i * step * 768, views.begin() + (i * step + 1) * 768));
  }
}
