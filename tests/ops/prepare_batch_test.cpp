#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "ops/cuda/table.h"
#include "ops/erase.h"
#include "ops/ops.h"
#include "tests/ops/activations.h"

using namespace shoal::ops;
using namespace shoal::ops::testing;

namespace {

constexpr int64_t kN = 3, kHeight = 6, kWidth = 7;
constexpr int64_t kImage = kHeight * kWidth * 3;
constexpr float kMean[3] = {0.485f, 0.456f, 0.406f}, kStd[3] = {0.229f, 0.224f, 0.225f};

std::vector<uint8_t> made_images() {
  std::vector<uint8_t> images(kN * kImage);
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<uint8_t>(i * 37 + i / 11);
  return images;
}

Buffer run(const Table& table, Type type, const std::vector<uint8_t>& images, const MixRow* mix) {
  Buffer out(type, kN * kImage);
  PrepareBatch op{images.data(), mix, out.data(), type, kN, kHeight, kWidth, {}, {}};
  for (int c = 0; c < 3; ++c) {
    op.mean[c] = kMean[c];
    op.std[c] = kStd[c];
  }
  table.prepare_batch(op, nullptr);
  return out;
}

// Row 0: mixup with row 1. Row 1: CutMix with a box from row 2, and a corner erased. Row 2:
// unchanged.
std::vector<MixRow> mixing() {
  std::vector<MixRow> rows(kN);
  rows[0] = {.partner = 1, .lambda = 0.75f};
  rows[1] = {.partner = 2, .lambda = 1, .box = {2, 1, 5, 4}, .erase = {{4, 3, 7, 6}}, .erased = 1};
  rows[2] = {.partner = 2};
  return rows;
}

}  // namespace

TEST_CASE("without mixing every pixel is (x / 255 - mean) / std, in the order of the bytes") {
  const std::vector<uint8_t> images = made_images();
  for (const Table* table : {&reference(), &cpu(), &cuda_twin()}) {
    const Buffer out = run(*table, Type::f64, images, nullptr);
    for (int64_t i = 0; i < out.size; ++i) {
      const int c = static_cast<int>(i % 3);
      CHECK(out.get(i) == Approx((images[i] / 255.0 - kMean[c]) / kStd[c]).margin(1e-12));
    }
  }
}

TEST_CASE("with two images per row, the second is mixed into the first") {
  const std::vector<uint8_t> images = made_images();
  const MixRow mix{.partner = 1, .lambda = 0.75f};
  for (const Table* table : {&reference(), &cpu(), &cuda_twin()}) {
    const auto prepare = [&](const MixRow* rows, int64_t n, int64_t each) {
      Buffer out(Type::f64, n * kImage);
      PrepareBatch op{images.data(), rows, out.data(), Type::f64, n, kHeight, kWidth, {}, {}, each};
      std::copy(kMean, kMean + 3, op.mean);
      std::copy(kStd, kStd + 3, op.std);
      table->prepare_batch(op, nullptr);
      return out;
    };
    // `half` has one row, made from two images. It does not use the third image.
    const Buffer half = prepare(&mix, 1, 2), plain = prepare(nullptr, 3, 1);
    for (int64_t i = 0; i < kImage; ++i)
      CHECK(half.get(i) ==
            Approx(0.75 * plain.get(i) + 0.25 * plain.get(kImage + i)).margin(1e-12));
    const Buffer last = prepare(nullptr, 2, 2);  // made from images 0 and 2
    for (int64_t i = 0; i < kImage; ++i) CHECK(last.get(kImage + i) == plain.get(2 * kImage + i));
  }
}

TEST_CASE("mixup blends, CutMix replaces the box by the partner's pixels, erasing writes zero") {
  const std::vector<uint8_t> images = made_images();
  const std::vector<MixRow> mix = mixing();
  const Buffer plain = run(reference(), Type::f64, images, nullptr);
  for (const Table* table : {&reference(), &cpu(), &cuda_twin()}) {
    const Buffer out = run(*table, Type::f64, images, mix.data());
    for (int64_t y = 0; y < kHeight; ++y) {
      for (int64_t x = 0; x < kWidth; ++x) {
        const int64_t i = (y * kWidth + x) * 3;
        const bool box = x >= 2 && x < 5 && y >= 1 && y < 4, erased = x >= 4 && y >= 3;
        INFO("x " << x << " y " << y);
        CHECK(out.get(i) ==
              Approx(0.75 * plain.get(i) + 0.25 * plain.get(kImage + i)).margin(1e-12));
        const double cut = erased ? 0 : plain.get((box ? 2 : 1) * kImage + i);
        CHECK(out.get(kImage + i) == Approx(cut).margin(1e-12));
        CHECK(out.get(2 * kImage + i) == plain.get(2 * kImage + i));
      }
    }
  }
}

TEST_CASE("the threaded batch preparation equals the plain loops for every type") {
  const std::vector<uint8_t> images = made_images();
  const std::vector<MixRow> mix = mixing();
  for (const Type type : {Type::f32, Type::f64, Type::bf16}) {
    INFO(type_name(type));
    for (const MixRow* rows : {static_cast<const MixRow*>(nullptr), mix.data()}) {
      const Buffer want = run(reference(), type, images, rows);
      for (const Table* table : {&cpu(), &cuda_twin()})
        CHECK(difference(run(*table, type, images, rows), want) < rounding(type));
    }
  }
}

TEST_CASE("erasing a box equals timm's RandomErasing of the normalized image") {
  std::ifstream file(SHOAL_SOURCE_DIR "/tests/golden/erase.txt");
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    std::istringstream numbers(line);
    PrepareBatch op{};
    MixRow mix{.erased = 1};
    numbers >> op.height >> op.width;
    for (int32_t& edge : mix.erase[0]) numbers >> edge;
    std::vector<uint8_t> image(static_cast<size_t>(op.height * op.width * 3));
    for (uint8_t& byte : image) {
      int value = 0;
      numbers >> value;
      byte = static_cast<uint8_t>(value);
    }
    op.images = image.data();
    op.mix = &mix;
    op.type = Type::f32;
    op.n = 1;
    std::copy(kMean, kMean + 3, op.mean);
    std::copy(kStd, kStd + 3, op.std);
    Buffer out(Type::f32, static_cast<int64_t>(image.size()));
    op.out = out.data();
    std::vector<double> expected(image.size());
    for (double& value : expected) numbers >> value;
    REQUIRE(numbers);
    for (const Table* table : {&reference(), &cpu(), &cuda_twin()}) {
      table->prepare_batch(op, nullptr);
      for (size_t i = 0; i < expected.size(); ++i)
        CHECK(out.get(static_cast<int64_t>(i)) == Approx(expected[i]).margin(1e-6).epsilon(1e-6));
    }
  }
  CHECK(cases == 4);
}

TEST_CASE("an erased rectangle is filled with zeros, one random color or noise, as in timm") {
  constexpr int64_t kSide = 120, kValues = kSide * kSide * 3;
  const std::vector<uint8_t> images(kValues, 200);
  for (const EraseFill fill : {EraseFill::constant, EraseFill::color, EraseFill::noise}) {
    MixRow mix;
    mix.erase[0][0] = 10, mix.erase[0][1] = 20, mix.erase[0][2] = 110, mix.erase[0][3] = 100;
    mix.erase[1][0] = 0, mix.erase[1][1] = 90, mix.erase[1][2] = 50, mix.erase[1][3] = 120;
    mix.erased = 2;
    mix.erase_fill = fill;
    mix.erase_key = 7;
    std::vector<Buffer> made;
    for (const Table* table : {&reference(), &cpu(), &cuda_twin()}) {
      made.emplace_back(Type::f64, kValues);
      PrepareBatch op{images.data(), &mix, made.back().data(), Type::f64, 1, kSide, kSide, {}, {}};
      for (int c = 0; c < 3; ++c) op.mean[c] = kMean[c], op.std[c] = kStd[c];
      table->prepare_batch(op, nullptr);
    }
    double sum = 0, squares = 0;
    int64_t count = 0;
    for (int64_t y = 0; y < kSide; ++y)
      for (int64_t x = 0; x < kSide; ++x)
        for (int64_t c = 0; c < 3; ++c) {
          const int64_t i = 3 * (y * kSide + x) + c;
          const double value = made[0].get(i);
          REQUIRE(made[1].get(i) == Approx(value).margin(1e-12));
          REQUIRE(made[2].get(i) == Approx(value).margin(1e-12));
          const bool first = x >= 10 && y >= 20 && x < 110 && y < 100, second = x < 50 && y >= 90;
          if (!first && !second) {
            REQUIRE(value == Approx((200 / 255.0 - kMean[c]) / kStd[c]).margin(1e-12));
            continue;
          }
          const int64_t corner = 3 * (second ? 119 * kSide : 20 * kSide + 109) + c;
          if (fill == EraseFill::constant) REQUIRE(value == 0);
          if (fill == EraseFill::color) REQUIRE(value == made[0].get(corner));
          sum += value;
          squares += value * value;
          ++count;
        }
    if (fill == EraseFill::noise) {
      CHECK(sum / static_cast<double>(count) == Approx(0).margin(0.02));
      CHECK(squares / static_cast<double>(count) == Approx(1).margin(0.03));
    }
    if (fill == EraseFill::color) {  // the value differs between channels and rectangles
      CHECK(made[0].get(3 * 119 * kSide) != made[0].get(3 * 119 * kSide + 1));
      CHECK(made[0].get(3 * 119 * kSide) != made[0].get(3 * (20 * kSide + 109)));
    }
  }
}

TEST_CASE("every image has different noise") {
  MixRow a, b;
  a.erase_fill = b.erase_fill = EraseFill::noise;
  a.erase_key = 1, b.erase_key = 2;
  CHECK(erased_value(a, 0, 5) != erased_value(b, 0, 5));
  CHECK(erased_value(a, 0, 5) != erased_value(a, 1, 5));
  CHECK(erased_value(a, 0, 5) != erased_value(a, 0, 6));
}

TEST_CASE("a gray image is the first channel of an RGB image with three equal channels") {
  std::vector<uint8_t> gray(kN * kHeight * kWidth), rgb;
  for (size_t i = 0; i < gray.size(); ++i) {
    gray[i] = static_cast<uint8_t>(i * 29 + i / 7);
    rgb.insert(rgb.end(), 3, gray[i]);
  }
  std::vector<MixRow> mix = mixing();
  mix[1].erase_fill = GENERATE(EraseFill::constant, EraseFill::color, EraseFill::noise);
  mix[1].erase_key = 77;
  const Buffer want = run(reference(), Type::f64, rgb, mix.data());
  for (const Table* table : {&reference(), &cpu(), &cuda_twin()}) {
    Buffer out(Type::f64, kN * kHeight * kWidth);
    PrepareBatch op{gray.data(), mix.data(), out.data(), Type::f64, kN, kHeight, kWidth, {}, {}};
    op.mean[0] = kMean[0];
    op.std[0] = kStd[0];
    op.channels = 1;
    table->prepare_batch(op, nullptr);
    for (int64_t i = 0; i < out.size; ++i)
      REQUIRE(out.get(i) == Approx(want.get(3 * i)).margin(1e-12));
  }
}
