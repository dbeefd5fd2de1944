#include "train/report/classification.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

using namespace shoal::train;

namespace {

// Results that scikit-learn and torchmetrics computed for the same logits.
struct Golden {
  std::vector<ImageResult> images;
  std::vector<double> figures;               // see tests/golden/scripts/make_classification.py
  std::vector<std::vector<double>> classes;  // precision, recall, f1
  std::vector<std::vector<int64_t>> confusion;
};

Golden golden() {
  Golden all;
  std::ifstream file(SHOAL_SOURCE_DIR "/tests/golden/classification.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    std::vector<double> values{std::istream_iterator<double>(words), {}};
    if (kind == "image") {
      const std::vector<float> logits(values.begin() + 1, values.end());
      all.images.push_back(result_of(logits, static_cast<int32_t>(values[0])));
    }
    if (kind == "figures") all.figures = values;
    if (kind == "class") all.classes.push_back(values);
    if (kind == "confusion") all.confusion.emplace_back(values.begin(), values.end());
  }
  REQUIRE(all.images.size() == 60);
  REQUIRE(all.classes.size() == 8);
  REQUIRE(all.confusion.size() == 8);
  return all;
}

ImageResult image(int32_t label, int32_t predicted, float probability, float loss = 0) {
  ImageResult one;
  one.label = label;
  one.classes[0] = predicted;
  one.probabilities[0] = probability;
  one.loss = loss;
  return one;
}

}  // namespace

TEST_CASE("the figures of an evaluation equal those of scikit-learn and torchmetrics") {
  const Golden all = golden();
  double right = 0, near = 0, loss = 0;
  for (const ImageResult& one : all.images) {
    right += one.correct();
    near += std::find(one.classes.begin(), one.classes.end(), one.label) != one.classes.end();
    loss += static_cast<double>(one.loss);
  }
  const Classification found = classification_of(all.images, 8);
  const std::vector<double> values = {right / 60,      near / 60,    loss / 60, found.ece,
                                      found.precision, found.recall, found.f1};
  REQUIRE(all.figures.size() == values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    INFO("figure " << i);
    CHECK(values[i] == Approx(all.figures[i]).epsilon(1e-6));
  }
  std::vector<std::vector<int64_t>> confusion(8, std::vector<int64_t>(8));
  for (const Confusion& one : found.confusion) {
    CHECK(one.images > 0);
    confusion[size_t(one.label)][size_t(one.predicted)] = one.images;
  }
  CHECK(confusion == all.confusion);
  for (size_t c = 0; c < 8; ++c) {
    INFO("class " << c);
    const ClassCounts& counts = found.classes[c];
    CHECK(counts.precision().value_or(0) == Approx(all.classes[c][0]));
    CHECK(counts.recall().value_or(0) == Approx(all.classes[c][1]));
    CHECK(counts.f1().value_or(0) == Approx(all.classes[c][2]));
  }
  CHECK_FALSE(found.classes[5].recall());     // no image has this class
  CHECK_FALSE(found.classes[6].precision());  // no prediction is this class
  CHECK_FALSE(found.classes[7].f1());
}

TEST_CASE("calibration bins include their lower limits, and the last one includes 1") {
  const auto found = classification_of(
      {image(0, 0, 0.2F), image(1, 0, 0.25F), image(0, 0, 1), image(0, 1, 0.95F), {}}, 2);
  CHECK(found.bins[3].images == 2);  // confidences from 3/15 to 4/15
  CHECK(found.bins[3].accuracy == 0.5);
  CHECK(found.bins[3].confidence == Approx(0.225));
  CHECK(found.bins[14].images == 2);
  CHECK(found.ece == Approx((std::abs(1 - 0.45) + std::abs(1 - 1.95)) / 4));
  CHECK(found.confusion.size() == 3);  // the unreadable image does not count
}

TEST_CASE("among equal logits the lower class is predicted, and NaN is wrong") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> equal = {1, 2, 2, kExcluded, 0, 0};
  const ImageResult one = result_of(equal, 2);
  CHECK(one.classes == std::array<int32_t, 5>{1, 2, 0, 4, 5});
  CHECK_FALSE(one.correct());
  CHECK(best_guesses(equal, 9).size() == 5);
  for (const int32_t label : {0, 1}) {
    const ImageResult bad = result_of(std::vector<float>{nan, 1, 0}, label);
    CHECK(bad.readable());
    CHECK_FALSE(bad.correct());
    CHECK(std::isnan(bad.loss));
  }
}

TEST_CASE("the highest losses come first, NaN before all, and unreadable images not at all") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<ImageResult> images = {image(0, 0, 1, 2), {},
                                           image(0, 1, 1, 5), image(0, 1, 1, nan),
                                           image(0, 0, 1, 3), image(0, 1, 1, 2)};
  CHECK(highest_losses(images, 4) == std::vector<size_t>{3, 2, 4, 0});
  CHECK(highest_losses(images, 9, /*only_wrong=*/true) == std::vector<size_t>{3, 2, 5});
}
