// Tests the training loss that --loss selects.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/random.h"
#include "models/model.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/run/run_support.h"
#include "train/step/input.h"
#include "train/step/trainer.h"

using namespace shoal;
using namespace shoal::train;
using namespace shoal::test;

namespace {

constexpr int64_t kBatchRows = 4, kBatchSide = 32, kBatchClasses = 4;

// A batch of random pixels with mixed labels.
struct MixedBatch {
  std::vector<uint8_t> pixels = std::vector<uint8_t>(kBatchRows * kBatchSide * kBatchSide * 3);
  std::vector<data::Row> rows = std::vector<data::Row>(kBatchRows);
  data::Batch batch;

  MixedBatch() {
    data::KeyedRandom random(8);
    for (uint8_t& byte : pixels) byte = static_cast<uint8_t>(random.next());
    const float lambdas[kBatchRows] = {0.25f, 0.5f, 0.75f, 0.125f};
    for (size_t i = 0; i < kBatchRows; ++i) {
      rows[i].label = static_cast<int32_t>(i);
      rows[i].key = random.next();
      rows[i].partner = static_cast<int32_t>(kBatchRows - 1 - i);
      rows[i].lambda = lambdas[i];
      rows[i].blend = true;
    }
    batch.images = pixels.data();
    batch.rows = rows;
    batch.capacity = batch.count = kBatchRows;
    batch.height = batch.width = kBatchSide;
  }
};

// Returns the initial network of a run, in double.
std::unique_ptr<models::Classifier> initial_network(const ResolvedJob& job) {
  models::ModelOptions options = job.model;
  options.seed = job.seed;
  std::unique_ptr<models::Classifier> model = models::create(options);
  for (const models::ParameterSlot& slot : model->parameters())
    slot.master->set_data(slot.master->detach().to(at::kDouble));
  for (const models::BatchNormSlot& slot : model->batch_norms())
    for (at::Tensor* t : {slot.running_mean, slot.running_var, slot.pending})
      *t = t->to(at::kDouble);
  model->train(true);
  return model;
}

// Returns the targets of the batch with label smoothing, one row per image.
at::Tensor soft_targets(const Input& input, double smoothing) {
  const at::Tensor share = input.labels.lambda.to(at::kDouble).unsqueeze(1);
  return (1 - smoothing) *
             (share * at::one_hot(input.labels.a.to(at::kLong), kBatchClasses) +
              (1 - share) * at::one_hot(input.labels.b.to(at::kLong), kBatchClasses)) +
         smoothing / kBatchClasses;
}

}  // namespace

TEST_CASE("a step with binary cross-entropy has the loss and gradients of ATen's") {
  at::set_num_threads(1);
  const test::TemporaryDirectory folder;
  const MixedBatch images;
  const auto check = [&](bool sum_classes, std::optional<double> threshold, bool weighted) {
    INFO("sum " << sum_classes << ", threshold " << threshold.value_or(-1));
    ResolvedJob job = job_in(folder.path(), [&](Job& j) {
      j.float64 = true;
      j.loss = Loss::binary;
      j.bce_sum = sum_classes;
      j.bce_threshold = threshold;
      j.label_smoothing = 0.125;
    });
    if (weighted) job.class_weights = {0.5, 2, 1, 0.25};
    const auto model = initial_network(job);
    dist::Communicator alone = dist::connect(dist::single_process());
    Trainer trainer(job, alone);

    const Input input = make_input(images.batch, ops::Type::f64, at::kCPU);
    models::StepContext context;
    context.keys = input.key_values();
    context.seed = job.seed;
    const at::Tensor soft = soft_targets(input, job.label_smoothing);
    const at::Tensor target = threshold ? soft.gt(*threshold).to(at::kDouble) : soft;
    at::Tensor weight = at::ones({kBatchRows, 1}, at::kDouble);
    if (weighted) weight = soft.matmul(at::tensor(job.class_weights, at::kDouble)).unsqueeze(1);
    const at::Tensor losses = at::binary_cross_entropy_with_logits(
        model->forward(input.images, context), target, weight, {}, at::Reduction::None);
    const at::Tensor loss = sum_classes ? losses.sum(1).mean() : losses.mean();
    loss.backward();

    const StepResult result = trainer.step([&] { return &images.batch; }, 0, 0.1);
    REQUIRE(result.finite);
    CHECK(result.meter.images == kBatchRows);
    CHECK(result.meter.mean_loss() == Approx(loss.item<double>()));
    const auto parameters = model->parameters();
    REQUIRE(parameters.size() == trainer.parameters().tensors().size());
    double largest = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor want = parameters[i].master->grad();
      const at::Tensor got = trainer.parameters().tensors()[i].grad();
      INFO(parameters[i].name);
      CHECK((got - want).norm().item<double>() < 1e-9 * (1e-3 + want.norm().item<double>()));
      largest = std::max(largest, want.norm().item<double>());
    }
    CHECK(largest > 1e-2);
  };
  check(false, std::nullopt, false);
  check(true, 0.25, false);
  check(true, std::nullopt, true);
}

TEST_CASE("--bce-sum multiplies the loss by the number of classes; evaluations use cross-entropy") {
  const test::TemporaryDirectory folder;
  const auto losses = [&](const std::string& name, Loss loss, bool sum_classes) {
    const ResolvedJob job = job_in(folder.path() / name, [&](Job& j) {
      j.max_steps = 1;
      j.schedule.lr = 1e-30;
      j.optimizer.weight_decay = 0;
      j.loss = loss;
      j.bce_sum = sum_classes;
    });
    const RunResult result = run_alone(job);
    return std::pair(summary_of(job).at("train").at("loss").get<double>(),
                     result.last_evaluation.loss);
  };
  const auto ce = losses("ce", Loss::cross_entropy, false);
  const auto mean = losses("mean", Loss::binary, false);
  const auto sum = losses("sum", Loss::binary, true);
  CHECK(mean.first < 0.8 * ce.first);
  CHECK(sum.first == Approx(kBatchClasses * mean.first));
  CHECK(mean.second == Approx(ce.second));
  CHECK(sum.second == Approx(ce.second));
}
