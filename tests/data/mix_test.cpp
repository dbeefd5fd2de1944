#include "data/mix.h"

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

TEST_CASE("both rows of a pair get the same draw, wherever the pair lies in a batch", "[single]") {
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

TEST_CASE("without mixing a row is its own", "[single]") {
  const Row row = mixed({}, 9, 3);
  CHECK(row.partner == 3);
  CHECK(row.lambda == 1);
  CHECK(row.erase[2] == 0);
}

TEST_CASE("erasing hits the share of rows asked for, inside the picture, each row for itself",
          "[single]") {
  MixOptions options;
  options.erase = 0.25;
  int erased = 0;
  double area = 0;
  for (int64_t i = 0; i < 8000; ++i) {
    const Row row = mixed(options, i, 0);
    const int width = row.erase[2] - row.erase[0], height = row.erase[3] - row.erase[1];
    REQUIRE((row.erase[0] >= 0 && row.erase[1] >= 0 && row.erase[2] <= 80 && row.erase[3] <= 64));
    erased += width > 0;
    area += width * height / (64.0 * 80.0);
  }
  CHECK(erased == Approx(2000).margin(150));
  CHECK(area / erased == Approx(0.17).margin(0.02));
}
