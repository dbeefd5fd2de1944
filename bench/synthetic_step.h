#pragma once
// A training step on synthetic images for the benchmark programs: forward, loss, backward, gradient
// norm, optimizer, statistics. Not thread-safe.

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <memory>
#include <optional>
#include <string>

#include "dist/gradients/gradient_reducer.h"
#include "models/functions.h"
#include "models/model.h"
#include "train/step/state/flat_parameters.h"
#include "train/step/state/flat_statistics.h"
#include "train/step/state/optimizer.h"

namespace shoal::bench {

struct StepOptions {
  std::string model = "efficientnet_b0";
  int64_t batch = 32, size = 224;
  at::Device device = at::kCPU;
  at::ScalarType type = at::kFloat;         // type of the parameters
  std::optional<at::ScalarType> copy_type;  // type that layers compute in, if different
  uint64_t image_seed = 0;
  train::OptimizerOptions optimizer;
};

class SyntheticStep {
 public:
  explicit SyntheticStep(const StepOptions& options)
      : batch_(options.batch),
        model_(make_model(options)),
        parameters_(*model_, flat_options(options)),
        statistics_(*model_, options.type, options.device),
        optimizer_(options.optimizer, parameters_) {
    at::manual_seed(options.image_seed);
    const at::ScalarType type = options.copy_type.value_or(options.type);
    images_ = at::randn({batch_, 3, options.size, options.size})
                  .contiguous(at::MemoryFormat::ChannelsLast)
                  .to(options.device, type);
    const auto place = at::TensorOptions().device(options.device);
    labels_.a = at::arange(batch_, at::kInt).mul(31).remainder(1000).to(options.device);
    norm_ = at::zeros({1}, place.dtype(at::kDouble));
    non_finite_ = at::zeros({1}, place.dtype(at::kInt));
    loss_sum_ = at::zeros({}, place.dtype(at::kDouble));
    keys_ = at::arange(1, batch_ + 1, at::kLong).to(options.device);
    model_->train(true);
  }

  // Averages the gradients of all later steps over the ranks of the group.
  void average_over(const dist::Group& group) {
    reducer_ = std::make_unique<dist::GradientReducer>(group, parameters_.tensors());
  }

  // Runs forward and backward.
  void differentiate() {
    parameters_.zero_gradients();
    if (reducer_) reducer_->prepare(true);
    models::StepContext context;
    context.keys = reinterpret_cast<const uint64_t*>(keys_.const_data_ptr<int64_t>());
    context.gradients_are_zero = true;
    context.gradient_complete = [this](size_t i) {
      if (reducer_) reducer_->complete(i);
    };
    const at::Tensor logits = model_->forward(images_, context);
    const auto result =
        models::cross_entropy(logits, labels_, 0.1, 1.0 / static_cast<double>(batch_));
    result.loss.backward();
    if (reducer_) reducer_->finish();
    loss_sum_.copy_(result.loss_sum);
  }

  // Runs one step. On a GPU, returns without waiting.
  void enqueue() {
    differentiate();
    const at::NoGradGuard no_grad;
    measure_gradients(parameters_, norm_, non_finite_);
    optimizer_.step(0.01, norm_, non_finite_);
    statistics_.commit(1, non_finite_);
  }

  // Mean loss of the last step. Waits for the device.
  double loss() const { return loss_sum_.item<double>() / static_cast<double>(batch_); }
  const train::FlatParameters& parameters() const { return parameters_; }
  const train::FlatStatistics& statistics() const { return statistics_; }

 private:
  static std::unique_ptr<models::Classifier> make_model(const StepOptions& o) {
    models::ModelOptions options;
    options.name = o.model;
    return models::create(options);
  }
  static train::FlatOptions flat_options(const StepOptions& o) {
    train::FlatOptions options;
    options.type = o.type;
    options.copy_type = o.copy_type;
    options.weight_decay = 1e-5;
    options.device = o.device;
    return options;
  }

  int64_t batch_;
  std::unique_ptr<models::Classifier> model_;
  train::FlatParameters parameters_;
  train::FlatStatistics statistics_;
  train::Optimizer optimizer_;
  std::unique_ptr<dist::GradientReducer> reducer_;
  at::Tensor keys_, images_, norm_, non_finite_, loss_sum_;
  models::Labels labels_;
};

}  // namespace shoal::bench
