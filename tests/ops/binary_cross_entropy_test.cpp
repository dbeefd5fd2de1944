#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "ops/cuda/table.h"
#include "ops/ops.h"
#include "tests/ops/activations.h"

using namespace shoal::ops;
using namespace shoal::ops::testing;

namespace {

struct BinaryLoss {
  double sum = 0;
  int64_t top1 = 0, top5 = 0;
  Buffer gradient;
};

// Labels of a batch; without `b`, labels are not mixed.
struct BinaryLabels {
  std::vector<int32_t> a, b;
  std::vector<float> lambda;
};

BinaryLoss binary_loss(const Table& table, const Buffer& logits, const BinaryLabels& labels,
                       float smoothing = 0, const BinaryCrossEntropy& binary = {}, double scale = 1,
                       const double* class_weights = nullptr) {
  const auto rows = static_cast<int64_t>(labels.a.size());
  const bool mixed = !labels.b.empty();
  BinaryLoss loss{0, 0, 0, {logits.type, logits.size}};
  table.binary_cross_entropy(
      {logits.type, rows, logits.size / rows, logits.data(), labels.a.data(),
       mixed ? labels.b.data() : nullptr, mixed ? labels.lambda.data() : nullptr, smoothing, scale,
       loss.gradient.data(), &loss.sum, &loss.top1, &loss.top5, class_weights},
      binary, nullptr);
  return loss;
}

// Returns the loss of one class, computed directly.
double class_loss(double logit, double target) {
  const double p = 1 / (1 + std::exp(-logit));
  return -target * std::log(p) - (1 - target) * std::log(1 - p);
}

}  // namespace

TEST_CASE("binary cross-entropy and its gradient equal timm's") {
  const Table& table = *GENERATE(&reference(), &cpu(), &cuda_twin());
  const BinaryLabels plain = {{0, 3, 5, 1, 2}, {}, {}};
  const BinaryLabels mixed = {plain.a, {2, 1, 5, 3, 0}, {0.25f, 0.5f, 1.0f, 0.75f, 0.125f}};
  const double weights[] = {0.5, 2, 1, 0, 4, 0.25};
  Buffer logits(Type::f64, 30);
  for (int64_t i = 0; i < logits.size; ++i)
    logits.set(i, 3 * std::sin(0.37 * static_cast<double>(i) + 0.5));
  std::ifstream golden(SHOAL_SOURCE_DIR "/tests/golden/binary_cross_entropy.txt");
  int64_t records = 0;
  bool is_mixed = false, weighted = false;
  BinaryCrossEntropy binary;
  for (double smoothing = 0, sum = 0;
       golden >> smoothing >> is_mixed >> binary.threshold >> binary.sum_classes >> weighted >> sum;
       ++records) {
    INFO(table.name << ", record " << records);
    const BinaryLoss loss =
        binary_loss(table, logits, is_mixed ? mixed : plain, static_cast<float>(smoothing), binary,
                    0.5, weighted ? weights : nullptr);
    // on_grid() rounds the loss of each row to a multiple of 2^-24.
    CHECK(loss.sum == Approx(sum).margin(5 * std::exp2(-25)).epsilon(0));
    double slope = 0;
    for (int64_t i = 0; i < logits.size && golden >> slope; ++i)
      CHECK(loss.gradient.get(i) == Approx(0.5 * slope).epsilon(1e-12).margin(1e-14));
  }
  CHECK(records == 13);
}

TEST_CASE("the gradient of binary cross-entropy equals the difference quotient of its formula") {
  const Table& table = *GENERATE(&reference(), &cuda_twin());
  const BinaryLabels labels = {{0, 3, 6}, {2, 3, 0}, {0.25f, 0.5f, 1.0f}};
  const double h = 1e-6, s = 0.125;
  const Buffer logits(Type::f64, 21, 1, 2);
  const BinaryLoss loss = binary_loss(table, logits, labels, s, {}, 0.5);
  double sum = 0;
  for (int64_t i = 0; i < logits.size; ++i) {
    const auto row = static_cast<size_t>(i / 7);
    const double lambda = labels.lambda[row];
    const double target = s / 7 + (1 - s) * ((i % 7 == labels.a[row] ? lambda : 0) +
                                             (i % 7 == labels.b[row] ? 1 - lambda : 0));
    const double x = logits.get(i);
    sum += class_loss(x, target) / 7;
    const double slope = (class_loss(x + h, target) - class_loss(x - h, target)) / (2 * h) / 7;
    CHECK(loss.gradient.get(i) == Approx(0.5 * slope).margin(1e-8));
  }
  CHECK(loss.sum == Approx(sum));
}

TEST_CASE("binary cross-entropy of every type is that of float64, and does not overflow") {
  const Table& table = *GENERATE(&cpu(), &cuda_twin());
  const BinaryLabels labels = {{1, 4}, {0, 4}, {0.75f, 0.5f}};
  for (const Type type : {Type::f32, Type::bf16}) {
    INFO(type_name(type));
    const Buffer logits(type, 20, 1, 20);
    Buffer exact(Type::f64, 20);
    for (int64_t i = 0; i < 20; ++i) exact.set(i, logits.get(i));
    const BinaryLoss got = binary_loss(table, logits, labels, 0.1f),
                     want = binary_loss(table, exact, labels, 0.1f);
    CHECK(got.sum == Approx(want.sum));
    CHECK(difference(got.gradient, want.gradient) < rounding(type));
  }
  Buffer logits(Type::f32, 10);
  for (int64_t i = 0; i < 10; ++i) logits.set(i, -30000);
  logits.set(1, 30000);
  BinaryCrossEntropy sum;
  sum.sum_classes = true;
  CHECK(binary_loss(table, logits, {{1}, {}, {}}, 0, sum).sum == Approx(0).margin(1e-9));
  CHECK(binary_loss(table, logits, {{0}, {}, {}}, 0, sum).sum == Approx(60000));
}

TEST_CASE("a row with class weight 0 counts in the accuracy, but not in loss and gradient") {
  const Table& table = *GENERATE(&reference(), &cpu(), &cuda_twin());
  const double weights[] = {0, 2, 2, 2};
  const Buffer logits(Type::f32, 4);
  const BinaryLoss loss = binary_loss(table, logits, {{0}, {}, {}}, 0, {}, 1, weights);
  CHECK(loss.sum == 0);
  for (int64_t i = 0; i < 4; ++i) CHECK(loss.gradient.get(i) == 0);
  CHECK(loss.top1 == 1);
  CHECK(binary_loss(table, logits, {{1}, {}, {}}, 0, {}, 1, weights).sum ==
        Approx(2 * std::log(2.0)));
}

TEST_CASE("logits that are not finite give a loss and a gradient that are not finite") {
  const Table& table = *GENERATE(&reference(), &cpu(), &cuda_twin());
  for (const double bad : {double{NAN}, double{INFINITY}, -double{INFINITY}}) {
    for (const int32_t label : {0, 1}) {
      Buffer logits(Type::f32, 3);
      logits.set(1, bad);
      const BinaryLoss loss = binary_loss(table, logits, {{label}, {}, {}});
      INFO(bad << ", label " << label);
      CHECK_FALSE(std::isfinite(loss.sum));
      CHECK_FALSE(std::isfinite(loss.gradient.get(1)));
      CHECK(std::isfinite(loss.gradient.get(0)));
    }
  }
}

TEST_CASE("binary cross-entropy counts top-1 and top-5 as cross-entropy does") {
  const Table& table = *GENERATE(&reference(), &cpu(), &cuda_twin());
  const int64_t rows = 50, classes = 9;
  Buffer logits(Type::f32, rows * classes, 3, 2);
  for (int64_t i = 0; i < logits.size; ++i) logits.set(i, std::round(logits.get(i)));  // makes ties
  logits.set(4, NAN);
  BinaryLabels labels;
  for (int32_t i = 0; i < rows; ++i) labels.a.push_back(i % 9);
  const BinaryLoss loss = binary_loss(table, logits, labels);
  BinaryLoss want{0, 0, 0, {Type::f32, logits.size}};
  reference().cross_entropy(
      {Type::f32, rows, classes, logits.data(), labels.a.data(), nullptr, nullptr, 0, 1,
       want.gradient.data(), &want.sum, &want.top1, &want.top5},
      nullptr);
  CHECK(loss.top1 == want.top1);
  CHECK(loss.top5 == want.top5);
  CHECK(loss.top1 > 0);
  CHECK(loss.top5 > loss.top1);
}

TEST_CASE("binary cross-entropy counts more rows than fit into the scratch memory") {
  const int64_t rows = 70000, classes = 5;
  const Buffer logits(Type::f32, rows * classes, 1, 2);
  BinaryLabels labels;
  // Labels repeat every 7 rows, so that using the label of another row changes the results.
  for (int64_t i = 0; i < rows; ++i) labels.a.push_back(static_cast<int32_t>(i % 7 % classes));
  const BinaryLoss want = binary_loss(reference(), logits, labels, 0.1f),
                   got = binary_loss(cuda_twin(), logits, labels, 0.1f);
  CHECK(got.sum == Approx(want.sum).epsilon(1e-12));
  CHECK(got.top1 == want.top1);
  CHECK(got.top5 == want.top5);
  CHECK(difference(got.gradient, want.gradient) < rounding(Type::f32));
}
