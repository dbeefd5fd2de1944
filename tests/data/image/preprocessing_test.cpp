// Tests grayscale images and flips against Pillow and torchvision
// (tests/golden/scripts/make_preprocessing.py).

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "data/loader/transform.h"
#include "tests/data/support.h"

using namespace shoal::data;

namespace {

// Calls check(file, options, pixels) for each golden case of the kind `what`. Returns their number.
template <class Check>
int each_case(const std::string& what, Check check) {
  const Bytes list = read_golden("preprocessing.txt"), golden = read_golden("preprocessing.bin");
  std::istringstream lines(std::string(list.begin(), list.end()));
  int64_t at = 0;
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, name, filter;
    int64_t channels = 0, a = 0, b = 0, side = 0;
    words >> kind;
    if (kind == "logits") continue;
    if (kind == "eval") words >> name >> channels >> filter >> a >> side;
    if (kind == "flip") words >> channels >> a >> b >> side;
    const int64_t bytes = channels * side * side;
    const Bytes expected(golden.begin() + at, golden.begin() + at + bytes);
    at += bytes;
    if (kind != what) continue;
    INFO(line);
    TransformOptions options;
    options.channels = channels;
    options.interpolation = filter == "bicubic" ? Interpolation::bicubic : Interpolation::bilinear;
    options.size = options.eval_size = side;
    options.eval_resize = a;
    options.hflip = static_cast<double>(a);
    options.vflip = static_cast<double>(b);
    check(name, options, expected);
    ++count;
  }
  CHECK(at == static_cast<int64_t>(golden.size()));
  return count;
}

// Returns the image with each pixel replaced by Pillow's luma.
Bytes gray_of(const Bytes& image) {
  Bytes gray(image.size());
  for (size_t i = 0; i < image.size(); ++i) {
    const uint8_t* const p = image.data() + i / 3 * 3;
    gray[i] = static_cast<uint8_t>((p[0] * 19595 + p[1] * 38470 + p[2] * 7471 + 0x8000) >> 16);
  }
  return gray;
}

Bytes training_row(const TransformOptions& options, const Bytes& file, uint64_t key) {
  Bytes row(static_cast<size_t>(options.size * options.size * options.channels));
  Transform(options).training_row(file, key, row.data());
  return row;
}

}  // namespace

TEST_CASE("grayscale evaluation rows are Pillow's for every image format, bit for bit",
          "[single]") {
  const int count = each_case(
      "eval", [](const std::string& name, TransformOptions& options, const Bytes& expected) {
        options.hflip = options.vflip = 0;
        Transform transform(options);
        Bytes row(expected.size(), 77);
        transform.evaluation_row(read_golden("images/" + name), row.data());
        CHECK(largest_difference(row, expected) == 0);
      });
  CHECK(count >= 75);
}

TEST_CASE("flipped training rows are torchvision's, bit for bit", "[single]") {
  const Bytes file = encode_bmp(formula_image({48, 48}), {48, 48});
  const int count =
      each_case("flip", [&](const std::string&, TransformOptions& options, const Bytes& expected) {
        options.scale_min = options.scale_max = options.ratio_min = options.ratio_max = 1;
        CHECK(largest_difference(training_row(options, file, 5), expected) == 0);
      });
  CHECK(count == 8);
}

TEST_CASE("a vertical flip happens with its probability and leaves crop and other draws alone",
          "[single]") {
  const Bytes file = made_jpeg(1, {90, 70});
  TransformOptions usual;
  usual.size = 24;
  usual.resize = GENERATE(Resize::exact, Resize::fast);
  TransformOptions flipping = usual;
  flipping.vflip = 0.25;
  int flips = 0;
  for (uint64_t key = 0; key < 400; ++key) {
    const Bytes plain = training_row(usual, file, key), row = training_row(flipping, file, key);
    Bytes turned;
    for (int64_t y = 23; y >= 0; --y)
      turned.insert(turned.end(), plain.begin() + y * 72, plain.begin() + (y + 1) * 72);
    flips += row == turned;
    REQUIRE((row == plain || row == turned));
  }
  CHECK(flips == Approx(100).margin(30));
}

TEST_CASE("a grayscale row equals a channel of the row of a gray image, also when augmented",
          "[single]") {
  const Size size{90, 70};
  const Bytes image = formula_image(size);
  const Bytes file = encode_bmp(image, size), gray_file = encode_bmp(gray_of(image), size);
  TransformOptions options;
  options.size = 32;
  options.normalization.mean = shoal::averaged(options.normalization.mean);
  options.augment.policy = GENERATE("none", "v0", "rand-m9-mstd0.5", "augmix-m5", "trivial");
  if (options.augment.policy == "v0") {
    options.augment.color_jitter = "0.4,0.4,0.4,0.2";
    options.augment.grayscale = options.augment.gaussian_blur = 0.5;
  }
  TransformOptions gray = options;
  gray.channels = 1;
  for (uint64_t key = 0; key < 60; ++key) {
    const Bytes rgb = training_row(options, gray_file, key), row = training_row(gray, file, key);
    for (size_t i = 0; i < rgb.size(); ++i) REQUIRE(rgb[i] == row[i / 3]);
  }
}

TEST_CASE("the fast resize of a grayscale image is near the exact one", "[single]") {
  const Bytes file = made_jpeg(3, {180, 140});
  TransformOptions options;
  options.size = 48;
  options.channels = 1;
  const Bytes exact = training_row(options, file, 9);
  options.resize = Resize::fast;
  const Bytes fast = training_row(options, file, 9);
  CHECK(exact != fast);
  CHECK(largest_difference(exact, fast) <= 6);
}

TEST_CASE("several grayscale views follow one another", "[single]") {
  const Bytes file = made_jpeg(2, {60, 40});
  TransformOptions options;
  options.eval_resize = 40;
  options.eval_size = 16;
  options.channels = 1;
  Bytes one(256), two(512);
  Transform(options).evaluation_row(file, one.data());
  options.eval_views = Views::flip;
  Transform(options).evaluation_row(file, two.data());
  CHECK(std::equal(one.begin(), one.end(), two.begin()));
  for (int64_t i = 0; i < 256; ++i) REQUIRE(two[256 + i] == one[i / 16 * 16 + 15 - i % 16]);
}
