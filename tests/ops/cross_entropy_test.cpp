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

struct Loss {
  double sum = 0;
  int64_t top1 = 0, top5 = 0;
  Buffer gradient;
};

Loss run(const Table& table, const Buffer& logits, int64_t rows, const int32_t* a, const int32_t* b,
         const float* lambda, float smoothing, double scale = 1,
         const double* class_weights = nullptr) {
  Loss loss{0, 0, 0, {logits.type, logits.size}};
  table.cross_entropy(
      {logits.type, rows, logits.size / rows, logits.data(), a, b, lambda, smoothing, scale,
       loss.gradient.data(), &loss.sum, &loss.top1, &loss.top5, class_weights},
      nullptr);
  return loss;
}

// Returns the loss, summed over the rows, computed directly as -Σ target * log(softmax).
double formula(const Buffer& logits, int64_t rows, const int32_t* a, const int32_t* b,
               const float* lambda, double s) {
  const int64_t classes = logits.size / rows;
  double loss = 0;
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(logits.get(r * classes + c));
    for (int64_t c = 0; c < classes; ++c) {
      double target = s / static_cast<double>(classes);
      if (c == a[r]) target += (1 - s) * (lambda ? lambda[r] : 1);
      if (lambda && c == b[r]) target += (1 - s) * (1 - lambda[r]);
      loss -= target * std::log(std::exp(logits.get(r * classes + c)) / sum);
    }
  }
  return loss;
}

}  // namespace

TEST_CASE(
    "cross-entropy with smoothing and two labels equals its formula, its gradient equals the "
    "difference "
    "quotient") {
  const Table& table = *GENERATE(&cpu(), &cuda_twin());
  const int64_t rows = 3, classes = 7;
  const int32_t a[] = {0, 3, 6}, b[] = {2, 3, 0};
  const float lambda[] = {0.25f, 0.5f, 1.0f};
  Buffer logits(Type::f64, rows * classes, 1, 2);
  for (const float smoothing : {0.0f, 0.125f}) {
    CHECK(run(table, logits, rows, a, nullptr, nullptr, smoothing).sum ==
          Approx(formula(logits, rows, a, nullptr, nullptr, smoothing)));
    const Loss loss = run(table, logits, rows, a, b, lambda, smoothing, 0.5);
    CHECK(loss.sum == Approx(formula(logits, rows, a, b, lambda, smoothing)));
    for (int64_t i = 0; i < logits.size; ++i) {
      const double h = 1e-6;
      Buffer up = logits, down = logits;
      up.set(i, logits.get(i) + h);
      down.set(i, logits.get(i) - h);
      const double slope = (formula(up, rows, a, b, lambda, smoothing) -
                            formula(down, rows, a, b, lambda, smoothing)) /
                           (2 * h);
      CHECK(loss.gradient.get(i) == Approx(0.5 * slope).margin(1e-8));
    }
  }
}

TEST_CASE("targets are computed in double, also if float rounds the label smoothing") {
  const Table& table = *GENERATE(&reference(), &cpu(), &cuda_twin());
  const int32_t label[] = {1};
  Buffer logits(Type::f64, 2);
  logits.set(0, 0);
  logits.set(1, 0);
  const double smoothing = 0.1f;
  CHECK(run(table, logits, 1, label, nullptr, nullptr, 0.1f).gradient.get(1) ==
        Approx(0.5 - (smoothing / 2 + (1 - smoothing))).epsilon(1e-12));
}

TEST_CASE("cross-entropy with class weights equals PyTorch's, with smoothing and two labels") {
  const Table& table = *GENERATE(&reference(), &cpu(), &cuda_twin());
  const int64_t rows = 4, classes = 6;
  const int32_t a[] = {0, 3, 5, 1}, b[] = {2, 3, 0, 4};
  const float lambda[] = {0.25f, 0.5f, 1.0f, 0.75f};
  const double weights[] = {0.5, 2, 1, 0, 4, 0.25};
  Buffer logits(Type::f64, rows * classes);
  for (int64_t i = 0; i < logits.size; ++i)
    logits.set(i, 3 * std::sin(0.37 * static_cast<double>(i) + 0.5));
  std::ifstream golden(SHOAL_SOURCE_DIR "/tests/golden/class_weights.txt");
  int64_t records = 0;
  bool mixed = false;
  for (double smoothing = 0, sum = 0; golden >> smoothing >> mixed >> sum; ++records) {
    INFO("smoothing " << smoothing << (mixed ? ", two labels" : ""));
    const Loss loss = run(table, logits, rows, a, mixed ? b : nullptr, mixed ? lambda : nullptr,
                          static_cast<float>(smoothing), 0.5, weights);
    // on_grid() rounds the loss of each row to a multiple of 2^-24.
    CHECK(loss.sum == Approx(sum).margin(rows * std::exp2(-25)).epsilon(0));
    double slope = 0;
    for (int64_t i = 0; i < logits.size && golden >> slope; ++i)
      CHECK(loss.gradient.get(i) == Approx(0.5 * slope).epsilon(1e-12).margin(1e-14));
  }
  CHECK(records == 4);
}

TEST_CASE("class weights of 1 give the loss and gradient without weights") {
  const int32_t a[] = {1, 4}, b[] = {0, 3};
  const float lambda[] = {0.3f, 0.6f};
  const std::vector<double> ones(10, 1.0);
  const Buffer logits(Type::f32, 20, 1, 5);
  const Loss with = run(cpu(), logits, 2, a, b, lambda, 0.1f, 0.25, ones.data());
  const Loss without = run(cpu(), logits, 2, a, b, lambda, 0.1f, 0.25);
  CHECK(with.sum == without.sum);
  CHECK(difference(with.gradient, without.gradient) < 1e-7);
}

TEST_CASE("implementations of cross-entropy agree for every type; large logits do not overflow") {
  const Table& table = *GENERATE(&cpu(), &cuda_twin());
  const int32_t a[] = {1, 4};
  for (const Type type : {Type::f32, Type::bf16}) {
    INFO(type_name(type));
    const Buffer logits(type, 20, 1, 20);
    Buffer exact(Type::f64, 20);
    for (int64_t i = 0; i < 20; ++i) exact.set(i, logits.get(i));
    const Loss got = run(table, logits, 2, a, nullptr, nullptr, 0.1f),
               want = run(table, exact, 2, a, nullptr, nullptr, 0.1f);
    CHECK(got.sum == Approx(want.sum));
    for (int64_t i = 0; i < 20; ++i)
      CHECK(got.gradient.get(i) == Approx(want.gradient.get(i)).margin(rounding(type)));
  }
  Buffer logits(Type::f32, 10);
  logits.set(1, 30000);
  CHECK(run(table, logits, 1, a, nullptr, nullptr, 0).sum == Approx(0).margin(1e-9));
  const int32_t wrong[] = {0};
  CHECK(run(table, logits, 1, wrong, nullptr, nullptr, 0).sum == Approx(30000));
}

TEST_CASE("top-1 and top-5 with ties, infinities and NaN match torch's stable sort") {
  const Table& table = *GENERATE(&reference(), &cpu(), &cuda_twin());
  std::ifstream golden(SHOAL_SOURCE_DIR "/tests/golden/places.txt");
  int64_t rows = 0;
  int64_t classes = 0, top1 = 0, top5 = 0;
  for (int32_t label = 0; golden >> classes >> label >> top1 >> top5; ++rows) {
    Buffer logits(Type::f32, classes);
    for (int64_t c = 0; c < classes; ++c) {
      std::string word;  // >> does not parse inf and nan as numbers
      golden >> word;
      logits.set(c, std::stod(word));
    }
    INFO("row " << rows << ", label " << label << " of " << classes);
    const Loss loss = run(table, logits, 1, &label, nullptr, nullptr, 0);
    CHECK(loss.top1 == top1);
    CHECK(loss.top5 == top5);
  }
  CHECK(rows == 120);
}

TEST_CASE("equal logits predict class 0, and NaN logits predict nothing") {
  const Table& table = *GENERATE(&reference(), &cpu(), &cuda_twin());
  const int64_t classes = 10, rows = 20;
  std::vector<int32_t> labels(rows);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i % classes);
  for (const Type type : {Type::f32, Type::f64, Type::bf16}) {
    Buffer logits(type, rows * classes);
    const Loss zero = run(table, logits, rows, labels.data(), nullptr, nullptr, 0);
    CHECK(zero.top1 == 2);
    CHECK(zero.top5 == 10);
    for (int64_t i = 0; i < logits.size; ++i) logits.set(i, NAN);
    const Loss nan = run(table, logits, rows, labels.data(), nullptr, nullptr, 0);
    CHECK(nan.top1 == 0);
    CHECK(nan.top5 == 0);
    CHECK(std::isnan(nan.sum));
  }
}

TEST_CASE("many rows are all counted") {
  const int64_t rows = 5000, classes = 5;
  const Buffer logits(Type::f32, rows * classes, 1, 2);
  std::vector<int32_t> labels(static_cast<size_t>(rows));
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i % classes);
  const Loss want = run(reference(), logits, rows, labels.data(), nullptr, nullptr, 0.1f),
             got = run(cuda_twin(), logits, rows, labels.data(), nullptr, nullptr, 0.1f);
  CHECK(got.sum == Approx(want.sum).epsilon(1e-12));
  CHECK(got.top1 == want.top1);
  CHECK(got.top5 == want.top5);
  CHECK(difference(got.gradient, want.gradient) < rounding(Type::f32));
}
