#include "train/step/read_back.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "models/functions.h"

using namespace shoal;

TEST_CASE("the sums of a loss on the device are read back as a meter") {
  const at::Tensor logits = at::tensor({1.0, 5.0, 2.0, 0.5, 0.25, 0.125, 3.0, 0.0,  //
                                        9.0, 8.0, 7.0, 6.0, 5.0, 0.0, 4.0, 3.0})
                                .view({2, 8})
                                .to(at::kFloat);
  const at::Tensor labels = at::tensor({1, 5}, at::kInt);
  const auto result = models::cross_entropy(logits, {labels, {}, {}}, 0, 1);
  // Two micro-batches.
  const auto values =
      train::read_back({train::device_meter({result.sums, result.sums}, 4), labels});
  REQUIRE(values.size() == 2);
  CHECK(at::equal(values[1], labels));
  const train::Meter meter = train::meter_of(values[0]);
  CHECK(meter.loss == 2 * result.loss_sum.item<double>());
  CHECK(meter.loss > 0);
  CHECK(meter.top1 == 2);
  CHECK(meter.top5 == 2);
  CHECK(meter.images == 4);
  CHECK(meter.skipped == 0);
  CHECK(train::read_back({}).empty());

  const double nan = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor bad = at::tensor({nan, 0.0, 0.0}).to(at::kDouble).view(at::kLong);
  CHECK(std::isnan(train::meter_of(train::device_meter({bad}, 2)).loss));
}

TEST_CASE("the loss of an evaluation does not depend on how images are divided into batches") {
  const at::Tensor logits =
      at::arange(0, 40 * 10, at::kFloat).mul(0.37).sin().mul(9).view({40, 10});
  const at::Tensor labels = at::arange(0, 40, at::kInt).remainder(10).to(at::kInt);
  const auto loss_of = [&](int64_t batch) {
    double sum = 0;
    for (int64_t i = 0; i < 40; i += batch) {
      const int64_t end = std::min<int64_t>(40, i + batch);
      const auto part =
          models::cross_entropy(logits.slice(0, i, end), {labels.slice(0, i, end), {}, {}}, 0, 1);
      sum += part.loss_sum.item<double>();
    }
    return sum;
  };
  const double whole = loss_of(40);
  for (const int64_t batch : {1, 3, 7, 16}) CHECK(loss_of(batch) == whole);
}
