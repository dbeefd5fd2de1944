#include "train/step/state/flat_statistics.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <limits>

#include "dist/health/verify.h"
#include "tests/train/step/toy_classifier.h"

namespace {

using shoal::train::FlatStatistics;
using shoal::train::testing::numbers;
using shoal::train::testing::ToyClassifier;

// Updates the pending statistics as a layer does in a training forward pass.
void fold(at::Tensor& pending, const at::Tensor& batch) {
  pending.mul_(0.9).add_(batch, 0.1);
}

}  // namespace

TEST_CASE("committing k batches equals k single updates of the running statistics") {
  ToyClassifier model, sequential;
  FlatStatistics statistics(model, at::kFloat, at::kCPU);
  CHECK(at::equal(model.mean2, sequential.mean2));
  for (int k = 0; k < 3; ++k) {
    const at::Tensor batch = numbers({2, 9}, k);
    fold(model.pending2, batch);
    sequential.mean2.mul_(0.9).add_(batch[0], 0.1);
    sequential.variance2.mul_(0.9).add_(batch[1], 0.1);
  }
  statistics.commit(3, {});
  CHECK(at::allclose(model.mean2, sequential.mean2));
  CHECK(at::allclose(model.variance2, sequential.variance2));
  CHECK(model.tracked2.item<int64_t>() == 3);
  CHECK(statistics.pending().abs().sum().item<double>() == 0);
}

TEST_CASE("a non-finite step leaves the statistics unchanged and drops the pending ones") {
  ToyClassifier model, original;
  FlatStatistics statistics(model, at::kFloat, at::kCPU);
  const at::Tensor flag = at::zeros({1}, at::kInt);
  flag.fill_(1);
  fold(model.pending, numbers({2, 5}, 3));
  model.pending2.fill_(std::numeric_limits<double>::quiet_NaN());
  const auto hash = [&] {
    return shoal::dist::hash({statistics.running(), model.tracked, model.tracked2});
  };
  const uint64_t before = hash();
  statistics.commit(1, flag);
  CHECK(hash() == before);
  CHECK(at::equal(model.mean, original.mean));
  CHECK(model.tracked.item<int64_t>() == 0);
  CHECK(statistics.pending().abs().sum().item<double>() == 0);
  flag.zero_();
  statistics.commit(1, flag);
  CHECK(model.tracked.item<int64_t>() == 1);
  CHECK(hash() != before);
}

TEST_CASE("buffers are saved and loaded by torchvision's names") {
  ToyClassifier model, original;
  FlatStatistics statistics(model, at::kDouble, at::kCPU);
  CHECK(statistics.names() ==
        std::vector<std::string>{"bn.running_mean", "bn.running_var", "bn.num_batches_tracked",
                                 "bn2.running_mean", "bn2.running_var", "bn2.num_batches_tracked"});
  CHECK(at::equal(statistics.contiguous_copy("bn2.running_mean"), original.mean2.to(at::kDouble)));
  CHECK(statistics.contiguous_copy("bn2.running_var").numel() == 9);
  CHECK(statistics.contiguous_copy("bn.num_batches_tracked").dim() == 0);
  const at::Tensor value = numbers({5}, 7);
  statistics.load("bn.running_var", value);
  CHECK(at::equal(model.variance, value.to(at::kDouble)));
  statistics.load("bn2.num_batches_tracked", at::full({}, 12, at::kLong));
  CHECK(model.tracked2.item<int64_t>() == 12);
  CHECK_THROWS_WITH(statistics.load("bn.running_var", numbers({9}, 0)),
                    Catch::Contains("bn.running_var"));
  CHECK_THROWS_WITH(statistics.contiguous_copy("bn9.running_var"), Catch::Contains("bn9"));
}

TEST_CASE("layers with fixed statistics keep them, and the others change as before") {
  ToyClassifier model, original;
  FlatStatistics statistics(model, at::kFloat, at::kCPU);
  statistics.fix({true, false});
  CHECK(model.fixed);
  CHECK_FALSE(model.fixed2);
  const at::Tensor batch = numbers({2, 9}, 3);
  fold(model.pending2, batch);
  statistics.commit(1, {});
  CHECK(at::equal(model.mean, original.mean));
  CHECK(at::equal(model.variance, original.variance));
  CHECK(model.tracked.item<int64_t>() == 0);
  CHECK(at::allclose(model.mean2, original.mean2.mul(0.9).add(batch[0], 0.1)));
  CHECK(model.tracked2.item<int64_t>() == 1);
  statistics.fix({false, false});
  statistics.commit(1, {});
  CHECK(model.tracked.item<int64_t>() == 1);
}
