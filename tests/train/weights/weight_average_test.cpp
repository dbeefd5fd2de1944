#include "train/weights/weight_average.h"

#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>
#include <stdexcept>

using namespace shoal::train;

namespace {

NamedTensors weights(float first, float second, int64_t batches) {
  return {{"w", at::tensor({first, second})}, {"n", at::tensor(batches)}};
}

}  // namespace

TEST_CASE("weights are averaged in double, and integers come from the last checkpoint") {
  WeightAverage average;
  // In float, 1e8 + 1 is 1e8 and the mean of the first elements would be 0.
  average.add(weights(1e8F, 1, 10));
  average.add(weights(1, 2, 20));
  average.add(weights(-1e8F, 6, 30));
  const NamedTensors mean = average.mean();
  CHECK(mean[0].second.scalar_type() == at::kFloat);
  CHECK(mean[0].second[0].item<float>() == static_cast<float>(1 / 3.0));
  CHECK(mean[0].second[1].item<float>() == 3);
  CHECK(mean[1].second.item<int64_t>() == 30);
  const NamedTensors with = average.mean_with(weights(3, 3, 40));
  CHECK(with[0].second[0].item<float>() == 1);
  CHECK(with[1].second.item<int64_t>() == 40);
  CHECK(average.mean()[0].second[1].item<float>() == 3);  // unchanged
}

TEST_CASE("an average does not change what was added") {
  const NamedTensors first = weights(1, 2, 1);
  WeightAverage average;
  average.add(first);
  average.add(weights(3, 4, 2));
  CHECK(first[0].second[0].item<float>() == 1);
  CHECK(first[1].second.item<int64_t>() == 1);
  CHECK_THROWS_AS(average.add({{"v", at::tensor({1.F, 2.F})}, {"n", at::tensor(int64_t{1})}}),
                  std::logic_error);
}
