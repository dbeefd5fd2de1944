#include "data/image/crop.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace shoal::data;

TEST_CASE("random crops are inside the image and have the requested area and aspect ratio",
          "[single]") {
  const Size image{500, 375};
  const TransformOptions options;
  KeyedRandom random(1);
  double area = 0, log_ratio = 0;
  const int n = 20'000;
  for (int i = 0; i < n; ++i) {
    const Box box = random_resized_crop(image, options, random);
    REQUIRE((box.left >= 0 && box.top >= 0 && box.width > 0 && box.height > 0));
    REQUIRE((box.left + box.width <= image.width && box.top + box.height <= image.height));
    const double share = static_cast<double>(box.width * box.height) / (500.0 * 375.0);
    const double ratio = static_cast<double>(box.width) / static_cast<double>(box.height);
    REQUIRE((share > 0.079 && share < 1.001));
    REQUIRE((ratio > 0.74 && ratio < 1.35));
    area += share;
    log_ratio += std::log(ratio);
  }
  // torchvision 0.26 gives these means over 60,000 crops. The image is wide, so large and tall
  // boxes are rejected more often.
  CHECK(area / n == Approx(0.4341).margin(0.008));
  CHECK(log_ratio / n == Approx(0.0309).margin(0.005));
}

TEST_CASE("if no drawn box fits, the crop is the largest central box with a valid aspect ratio",
          "[single]") {
  KeyedRandom random(2);
  TransformOptions options;
  const Box wide = random_resized_crop({1000, 10}, options, random);
  CHECK(wide.width == 13);
  CHECK(wide.height == 10);
  CHECK(wide.left == 493);
  CHECK(wide.top == 0);
  const Box tall = random_resized_crop({10, 1000}, options, random);
  CHECK(tall.width == 10);
  CHECK(tall.height == 13);
  CHECK(tall.top == 493);
  const Box dot = random_resized_crop({1, 1}, options, random);
  CHECK(dot.width * dot.height == 1);
}

TEST_CASE("the center view follows torchvision's integer rules", "[single]") {
  TransformOptions options;
  const CenterView view = center_view({500, 375}, options);
  CHECK(view.resized.width == 341);  // 341.33 rounded down
  CHECK(view.resized.height == 256);
  CHECK(view.crop.left == 58);  // 58.5 rounded to even
  CHECK(view.crop.top == 16);
  CHECK(view.crop.width == 224);
  options.eval_resize = 30;
  options.eval_size = 41;
  const CenterView padded = center_view({10, 20}, options);
  CHECK(padded.resized.height == 60);
  CHECK(padded.left == 5);
  CHECK(padded.crop.width == 30);
  CHECK(padded.crop.top == 10);  // 9.5 rounded to even
}
