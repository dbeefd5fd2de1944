#include "models/masks.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <numeric>

using namespace shoal::models;

namespace {

StepContext context_of(const std::vector<uint64_t>& keys, uint64_t seed = 1) {
  StepContext context;
  context.keys = keys.data();
  context.seed = seed;
  return context;
}

std::vector<uint64_t> counting(size_t n) {
  std::vector<uint64_t> keys(n);
  std::iota(keys.begin(), keys.end(), 0);
  return keys;
}

}  // namespace

TEST_CASE("a mask drops the requested fraction and keeps the mean") {
  const std::vector<uint64_t> keys = counting(20000);
  for (const double drop : {0.0125, 0.2, 0.5}) {
    const at::Tensor mask = row_mask(at::empty({20000, 4}, at::kDouble), drop, 3, context_of(keys));
    CHECK(mask.eq(0).to(at::kDouble).mean().item<double>() == Approx(drop).margin(0.012));
    CHECK(mask.max().item<double>() == Approx(1 / (1 - drop)));
  }
  const at::Tensor elements = element_mask(at::empty({64, 1280}), 0.2, 3, context_of(counting(64)));
  CHECK(elements.eq(0).to(at::kDouble).mean().item<double>() == Approx(0.2).margin(0.01));
  CHECK(row_mask(at::empty({4, 2}), 1, 0, context_of(keys)).abs().sum().item<double>() == 0);
}

TEST_CASE("a mask depends on the image's key, not on the rest of the batch") {
  const std::vector<uint64_t> keys = counting(64), part(keys.begin() + 40, keys.end());
  const at::Tensor whole = element_mask(at::empty({64, 10}), 0.5, 7, context_of(keys));
  const at::Tensor slice = element_mask(at::empty({24, 10}), 0.5, 7, context_of(part));
  CHECK(at::equal(whole.slice(0, 40), slice));
}

TEST_CASE("different layers, seeds, keys and elements have different masks") {
  const std::vector<uint64_t> keys = counting(256);
  const auto mask = [&](uint64_t layer, uint64_t seed) {
    return row_mask(at::empty({256, 1}), 0.5, layer, context_of(keys, seed));
  };
  const auto agreement = [](const at::Tensor& a, const at::Tensor& b) {
    return a.eq(b).to(at::kDouble).mean().item<double>();
  };
  CHECK(agreement(mask(1, 1), mask(1, 1)) == 1);
  CHECK(agreement(mask(1, 1), mask(2, 1)) == Approx(0.5).margin(0.15));
  CHECK(agreement(mask(1, 1), mask(1, 2)) == Approx(0.5).margin(0.15));
  const at::Tensor elements = element_mask(at::empty({256, 256}), 0.5, 1, context_of(keys));
  CHECK(agreement(elements.select(1, 0), elements.select(1, 1)) == Approx(0.5).margin(0.15));
  CHECK(agreement(elements, elements.t()) == Approx(0.5).margin(0.05));
}

TEST_CASE("a mask has the device and dtype of its model tensor and needs keys") {
  CHECK(row_mask(at::empty({2, 1}, at::kBFloat16), 0.5, 0, context_of(counting(2))).scalar_type() ==
        at::kBFloat16);
  CHECK_THROWS_AS(row_mask(at::empty({2, 1}), 0.5, 0, StepContext{}), std::logic_error);
}
