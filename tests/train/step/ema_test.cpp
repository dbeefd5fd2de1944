// Tests what the Ema class adds. tests/ops/optimizer_test.cpp compares its arithmetic with timm.

#include "train/step/state/ema.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include <catch2/catch.hpp>

#include "dist/health/verify.h"
#include "tests/train/step/toy_classifier.h"

namespace {

using namespace shoal::train;
using shoal::dist::hash;
using shoal::train::testing::ToyClassifier;

}  // namespace

TEST_CASE("the average follows weights and batch-norm statistics") {
  ToyClassifier model, original;
  FlatParameters parameters(model, {});
  FlatStatistics statistics(model, at::kFloat, at::kCPU);
  Ema ema({0.75, false}, parameters, statistics);
  at::NoGradGuard no_grad;
  model.conv.add_(1);
  model.mean2.add_(4);
  ema.update(0);
  CHECK(at::allclose(parameters.contiguous_copy("conv.weight", ema.parameters()),
                     original.conv.add(0.25)));
  CHECK(at::allclose(statistics.contiguous_copy("bn2.running_mean", ema.running()),
                     original.mean2.add(1)));
}

TEST_CASE("a non-finite step leaves the average unchanged") {
  ToyClassifier model;
  FlatParameters parameters(model, {});
  FlatStatistics statistics(model, at::kFloat, at::kCPU);
  Ema ema({0.75, false}, parameters, statistics);
  at::NoGradGuard no_grad;
  const uint64_t before = hash({ema.parameters()}), running = hash({ema.running()});
  parameters.flat().add_(1);
  statistics.running().add_(1);
  ema.update(0, at::full({1}, 1, at::kInt));
  CHECK(hash({ema.parameters()}) == before);
  CHECK(hash({ema.running()}) == running);
  ema.update(0, at::full({1}, 0, at::kInt));
  CHECK(hash({ema.parameters()}) != before);
}

TEST_CASE("the warm-up averages over fewer steps at first") {
  CHECK(ema_decay({0.9999, true}, 0) == Approx(0.1));
  CHECK(ema_decay({0.9999, true}, 90) == Approx(0.91));
  CHECK(ema_decay({0.9999, true}, 1000000) == 0.9999);
  CHECK(ema_decay({0.9999, false}, 0) == 0.9999);
}

TEST_CASE("swapping twice shows the averages in the model and restores everything") {
  ToyClassifier model, original;
  FlatParameters parameters(model, {.copy_type = at::kBFloat16});
  FlatStatistics statistics(model, at::kFloat, at::kCPU);
  Ema ema({0.5, false}, parameters, statistics);
  at::NoGradGuard no_grad;
  model.conv.add_(1);
  model.mean.add_(1);
  parameters.refresh_copies();
  const uint64_t before = hash({parameters.flat()}), running = hash({statistics.running()});
  ema.swap();
  CHECK(at::equal(model.conv, original.conv));
  CHECK(at::equal(model.conv_copy, original.conv.to(at::kBFloat16)));
  CHECK(at::equal(model.mean, original.mean));
  ema.swap();
  CHECK(hash({parameters.flat()}) == before);
  CHECK(hash({statistics.running()}) == running);
  CHECK(at::equal(model.conv_copy, model.conv.to(at::kBFloat16)));
}
