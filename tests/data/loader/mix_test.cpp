#include "data/loader/mix.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "data/random.h"

using namespace shoal::data;

namespace {

Row mixed(const MixOptions& options, int64_t position, int32_t index, int64_t epoch = 0) {
  Row row;
  mix_row(options, {7, epoch, position, index, sample_key(7, epoch, position), 64, 80}, row);
  return row;
}

}  // namespace

TEST_CASE("both rows of a pair get the same draw, at any place in a batch", "[single]") {
  MixOptions options;
  options.mixup = 0.2;
  options.cutmix = 1.0;
  int blends = 0;
  for (int64_t pair = 0; pair < 2000; ++pair) {
    const Row a = mixed(options, 2 * pair, 4), b = mixed(options, 2 * pair + 1, 5),
              c = mixed(options, 2 * pair, 0);
    REQUIRE(a.partner == 5);
    REQUIRE(b.partner == 4);
    REQUIRE(c.partner == 1);
    REQUIRE((a.lambda == b.lambda && a.lambda == c.lambda));
    REQUIRE(a.blend == b.blend);
    REQUIRE(std::equal(std::begin(a.box), std::end(a.box), std::begin(b.box)));
    blends += a.blend;
  }
  CHECK(blends == Approx(1000).margin(120));
  CHECK(mixed(options, 6, 0, 0).lambda != mixed(options, 6, 0, 1).lambda);
}

TEST_CASE("cutmix's lambda is the share of the row's own pixels", "[single]") {
  MixOptions options;
  options.cutmix = 1.0;
  double sum = 0;
  const int n = 4000;
  for (int64_t pair = 0; pair < n; ++pair) {
    const Row row = mixed(options, 2 * pair, 0);
    REQUIRE_FALSE(row.blend);
    REQUIRE((row.box[0] >= 0 && row.box[1] >= 0 && row.box[2] <= 80 && row.box[3] <= 64));
    REQUIRE((row.box[0] <= row.box[2] && row.box[1] <= row.box[3]));
    const int area = (row.box[2] - row.box[0]) * (row.box[3] - row.box[1]);
    REQUIRE(row.lambda == Approx(1 - area / (64.0 * 80.0)));
    sum += row.lambda;
  }
  CHECK(sum / n > 0.5);  // boxes are clipped at the border
  CHECK(sum / n < 0.75);
}

TEST_CASE("mixup blends with Beta(alpha, alpha)", "[single]") {
  MixOptions options;
  options.mixup = 0.8;
  double sum = 0, square = 0;
  const int n = 20'000;
  for (int64_t pair = 0; pair < n; ++pair) {
    const Row row = mixed(options, 2 * pair, 0);
    REQUIRE(row.blend);
    REQUIRE(row.box[2] == 0);
    sum += row.lambda;
    square += (row.lambda - 0.5) * (row.lambda - 0.5);
  }
  CHECK(sum / n == Approx(0.5).margin(0.01));
  CHECK(square / n == Approx(1 / (4 * 2.6)).epsilon(0.05));
}

TEST_CASE("without mixing, a row is its own partner", "[single]") {
  const Row row = mixed({}, 9, 3);
  CHECK(row.partner == 3);
  CHECK(row.lambda == 1);
  CHECK(row.erased == 0);
}

TEST_CASE("each mode shares a draw between the images of a step, between pairs, or not at all",
          "[single]") {
  MixOptions options;
  options.mixup = 0.8;
  options.cutmix = 1;
  options.mode = MixMode::batch;
  options.group = 8;
  const auto lambda = [&](int64_t position) { return mixed(options, position, 0).lambda; };
  for (int64_t position = 0; position < 64; ++position)
    REQUIRE(lambda(position) == lambda(position / 8 * 8));
  CHECK(lambda(0) != lambda(8));
  options.mode = MixMode::elem;
  for (int64_t pair = 0; pair < 16; ++pair) REQUIRE(lambda(2 * pair) != lambda(2 * pair + 1));
  CHECK(mixed(options, 6, 4).partner == 5);
}

TEST_CASE("mixing and cutmix have the requested probabilities", "[single]") {
  MixOptions options;
  options.mixup = 0.8;
  options.cutmix = 1;
  options.mix = 0.6;
  options.switch_mix = 0.25;
  int blends = 0, boxes = 0;
  for (int64_t pair = 0; pair < 10'000; ++pair) {
    const Row row = mixed(options, 2 * pair, 0);
    blends += row.blend;
    boxes += !row.blend && row.box[2] > 0;
  }
  CHECK(blends == Approx(4500).margin(200));
  CHECK(boxes == Approx(1500).margin(150));
}

TEST_CASE("erasing has the requested probability, stays inside the image and differs by row",
          "[single]") {
  MixOptions options;
  options.erase = 0.25;
  int erased = 0;
  double area = 0;
  for (int64_t i = 0; i < 8000; ++i) {
    const Row row = mixed(options, i, 0);
    REQUIRE(row.erased <= 1);
    if (row.erased == 0) continue;
    const int32_t* const box = row.erase[0];
    REQUIRE((box[0] >= 0 && box[1] >= 0 && box[2] <= 80 && box[3] <= 64));
    ++erased;
    area += (box[2] - box[0]) * (box[3] - box[1]) / (64.0 * 80.0);
  }
  CHECK(erased == Approx(2000).margin(150));
  CHECK(area / erased == Approx(0.17).margin(0.02));
}

TEST_CASE("several erased rectangles have the area of one in total", "[single]") {
  MixOptions options;
  options.erase = 1;
  options.erase_count = 3;
  options.erase_fill = EraseFill::noise;
  std::array<int, 4> counts{};
  double area = 0;
  const int n = 6000;
  for (int64_t i = 0; i < n; ++i) {
    const Row row = mixed(options, i, 0);
    REQUIRE(row.erase_fill == EraseFill::noise);
    ++counts.at(row.erased);
    for (int k = 0; k < row.erased; ++k)
      area +=
          (row.erase[k][2] - row.erase[k][0]) * (row.erase[k][3] - row.erase[k][1]) / (64.0 * 80.0);
  }
  for (const int k : {1, 2, 3})
    CHECK(counts.at(static_cast<size_t>(k)) == Approx(2000).margin(150));
  CHECK(area / n == Approx(0.17).margin(0.02));
}
