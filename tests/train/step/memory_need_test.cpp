#include "train/step/memory_need.h"

#include <catch2/catch.hpp>

#include "models/catalogue.h"

using namespace shoal;
using namespace shoal::train;

namespace {

constexpr int64_t kParameters = 11'181'642;  // of ResNet-18 with 10 classes

ResolvedJob resolved(Job job) {
  job.model.name = "resnet18";
  job.size = job.val_size = 64;
  Surroundings here;
  here.train_images = here.val_images = 100'000;
  here.classes = 10;
  models::ModelOptions model = job.model;
  model.classes = here.classes;
  here.model = models::describe(model);
  return resolve(job, here);
}

}  // namespace

TEST_CASE("the memory need follows the settings") {
  const ResolvedJob usual = resolved({});
  const MemoryNeed need = memory_need(usual);
  // SGD with momentum: weights, momentum, gradients and the initial weights.
  CHECK(need.state == 4 * 4 * kParameters);
  CHECK(memory_need(usual, 2 * usual.batch_size).input == 2 * need.input);

  const auto state_with = [&](auto change) {
    Job job;
    change(job);
    return memory_need(resolved(job)).state / (4 * kParameters);
  };
  CHECK(state_with([](Job& job) { job.optimizer.kind = OptimizerOptions::Kind::adamw; }) == 5);
  CHECK(state_with([](Job& job) { job.ema = 0.9; }) == 5);
  CHECK(state_with([](Job& job) { job.accumulate = 2; }) == 5);
  CHECK(state_with([](Job& job) { job.eval_only = true; }) == 2);

  const auto activations_with = [&](auto change) {
    Job job;
    change(job);
    return memory_need(resolved(job)).activations;
  };
  CHECK(activations_with([](Job& job) { job.amp = Precision::bf16; }) < need.activations);
  CHECK(activations_with([](Job& job) {
          job.weights = "weights.pth";  // --freeze needs it; the file is not opened
          job.freeze = "all-but-head";
        }) < need.activations);
  CHECK(activations_with([](Job& job) { job.eval_only = true; }) < need.activations);
  CHECK(activations_with([](Job& job) { job.multi_scale = "64-128"; }) > need.activations);
  CHECK(activations_with([](Job& job) { job.model.kernels = models::Kernels::reference; }) >
        need.activations);
}

TEST_CASE("the largest batch fits, and the next one does not") {
  const ResolvedJob job = resolved({});
  const auto bytes_of = [&](int64_t batch) { return limited_bytes(job, memory_need(job, batch)); };
  const int64_t bytes = bytes_of(100);
  for (const int64_t multiple : {1, 2, 8}) {
    const int64_t batch = largest_batch(job, multiple, 1024, bytes);
    CHECK(batch % multiple == 0);
    CHECK(bytes_of(batch) <= bytes);
    CHECK(bytes_of(batch + multiple) > bytes);
  }
  CHECK(largest_batch(job, 8, 50, bytes) == 48);  // the limit
  CHECK(largest_batch(job, 8, 1024, bytes_of(7)) == 0);
}
