#include "train/step/trainer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <stdexcept>

#include "base/now.h"
#include "base/process/trace.h"
#include "dist/health/verify.h"
#include "dist/sum_across_ranks.h"
#include "models/functions.h"
#include "train/step/device.h"
#include "train/step/read_back.h"
#include "train/step/trained.h"

namespace shoal::train {
namespace {

ops::Type type_of(const RunOptions& job) {
  if (job.float64) return ops::Type::f64;
  return job.amp == Precision::bf16 ? ops::Type::bf16 : ops::Type::f32;
}

FlatOptions flat_options(const RunOptions& job, at::Device device) {
  FlatOptions options;
  options.device = device;
  options.type = job.float64 ? at::kDouble : at::kFloat;
  if (job.amp == Precision::bf16) options.copy_type = at::kBFloat16;
  options.weight_decay = job.optimizer.weight_decay;
  options.layer_decay = job.layer_decay;
  options.head_lr_scale = job.head_lr_scale;
  return options;
}

// Returns the loss that the run minimizes. `scale`, `class_weights`: see models::cross_entropy().
models::LossResult loss_of(const ResolvedJob& job, const at::Tensor& logits,
                           const models::Labels& labels, double scale,
                           const at::Tensor& class_weights) {
  if (job.loss == Loss::cross_entropy)
    return models::cross_entropy(logits, labels, job.label_smoothing, scale, class_weights);
  const ops::BinaryCrossEntropy binary = {.threshold = job.bce_threshold,
                                          .sum_classes = job.bce_sum};
  return models::binary_cross_entropy(logits, labels, job.label_smoothing, scale, binary,
                                      class_weights);
}

// Adds this object's lifetime to `seconds`, and marks that time as `phase` for the profiler.
class Timed {
 public:
  Timed(std::string_view phase, double& seconds) : scope_(phase), seconds_(seconds) {}
  ~Timed() { seconds_ += now() - start_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  trace::Scope scope_;
  double& seconds_;
  double start_ = now();
};

void broadcast(dist::Group& group, at::Tensor tensor) {
  group.broadcast(tensor, 0);
}

}  // namespace

Trainer::Trainer(const ResolvedJob& job, dist::Communicator& communicator)
    : job_(job),
      communicator_(communicator),
      compute_type_(type_of(job)),
      blank_(job.mix.images_per_row(), job.transform.channels) {
  models::ModelOptions model = job.model;
  model.seed = job.seed;
  model_ = models::create(model);
  const at::Device device = device_of(job);
  parameters_ = std::make_unique<FlatParameters>(*model_, flat_options(job, device));
  statistics_ =
      std::make_unique<FlatStatistics>(*model_, job.float64 ? at::kDouble : at::kFloat, device);
  broadcast(communicator.main, parameters_->flat());
  broadcast(communicator.main, statistics_->running());
  parameters_->refresh_copies();
  dist::verify_equal(communicator.main, {parameters_->flat(), statistics_->running()},
                     "initial parameters and buffers");
  optimizer_ = std::make_unique<Optimizer>(job.optimizer, *parameters_);
  if (job.ema > 0) {
    ema_ = std::make_unique<Ema>(EmaOptions{job.ema, /*warmup=*/true}, *parameters_, *statistics_);
  }
  freeze(job.frozen_stages);
  if (job.sync_bn) {
    communicator.open_batch_norm();
    sum_across_ranks_ = dist::sum_across_ranks(communicator.batch_norm);
  }
  if (!job.class_weights.empty())
    class_weights_ = at::tensor(job.class_weights, at::kDouble).to(device);
  gradient_norm_ = at::zeros({1}, at::TensorOptions(device).dtype(at::kDouble));
  non_finite_ = at::zeros({1}, at::TensorOptions(device).dtype(at::kInt));
}

void Trainer::freeze(int64_t stages) {
  frozen_stages_ = stages;
  std::vector<bool> trained, fixed;
  for (const models::Traits& traits : parameters_->traits())
    trained.push_back(is_trained(traits, stages, job_));
  reducer_index_.assign(trained.size(), trained.size());  // frozen parameters have no index
  size_t index = 0;
  for (size_t i = 0; i < trained.size(); ++i)
    if (trained[i]) reducer_index_[i] = index++;
  for (int stage : statistics_->stages()) fixed.push_back(stage < stages || job_.freeze_bn);
  reducer_.reset();
  parameters_->train_only(trained, optimizer_->steps());
  statistics_->fix(fixed);
  dist::ReducerOptions options;
  options.bf16 = job_.gradient_compression == Precision::bf16 && !job_.eval_only;
  reducer_ = std::make_unique<dist::GradientReducer>(communicator_.main,
                                                     parameters_->trained_tensors(), options);
}

void Trainer::set_epoch(int64_t epoch) {
  const bool frozen = job_.unfreeze_epoch == 0 || epoch < job_.unfreeze_epoch;
  const int64_t stages = frozen ? job_.frozen_stages : 0;
  if (stages == frozen_stages_) return;
  freeze(stages);
}

at::Tensor Trainer::forward_backward(const data::Batch& batch, double strength, int64_t index,
                                     StepSeconds& seconds) {
  std::optional<Timed> timed(std::in_place, "input", seconds.input);
  const Input input = make_input(batch, compute_type_, device_of(job_), job_.mix.images_per_row());
  if (const ShowImages show = std::exchange(show_images_, {}))
    show(input.images, batch.normalization);
  timed.emplace("forward pass", seconds.forward);
  models::StepContext context;
  context.keys = input.key_values();
  context.seed = job_.seed;
  context.strength = strength;
  context.sum_across_ranks = sum_across_ranks_;
  context.gradients_are_zero = index == 0;
  context.gradient_complete = [this](size_t i) { reducer_->complete(reducer_index_[i]); };
  reducer_->prepare(index == job_.accumulate - 1);
  const at::Tensor logits = model_->forward(input.images, context);
  // The loss is the mean over this rank's images of the step. The reducer computes the mean over
  // ranks.
  const double scale = 1.0 / static_cast<double>(job_.batch_size * job_.accumulate);
  const auto result = loss_of(job_, logits, input.labels, scale, class_weights_);
  timed.emplace("backward pass", seconds.backward);
  result.loss.backward();
  if (input.batch_was_read) input.batch_was_read->synchronize();
  return result.sums;
}

void Trainer::average_statistics() {
  if (sum_across_ranks_) return;  // synchronized batch norm: already equal on every rank
  at::Tensor pending = statistics_->pending();
  communicator_.main.all_reduce_sum(pending);
  pending.div_(communicator_.size());
}

const data::Batch& Trainer::next(const BatchSource& batches, StepResult& result) {
  const double start = now();
  const auto reading = communicator_.main.during(dist::Phase::reading);
  const data::Batch* batch = batches();
  if (!batch) throw std::logic_error("the loader ended before the epoch did");
  result.data_seconds += now() - start;
  return *batch;
}

const data::Batch& Trainer::next_or_blank(const BatchSource& batches, StepResult& result) {
  try {
    if (!result.loader_failure) return next(batches, result);
  } catch (...) {
    result.loader_failure = std::current_exception();
  }
  return blank_.batch();
}

StepResult Trainer::skip(const BatchSource& batches) {
  StepResult result;
  for (int64_t m = 0; m < job_.accumulate; ++m)
    result.meter.skipped += static_cast<double>(
        communicator_.size() * next_or_blank(batches, result).count / job_.mix.images_per_row());
  return result;
}

StepResult Trainer::step(const BatchSource& batches, int64_t step, double lr, double strength) {
  StepResult result;
  communicator_.main.enter(dist::Phase::stepping);
  model_->train(true);
  parameters_->zero_gradients();
  std::vector<at::Tensor> sums;
  int64_t images = 0;
  for (int64_t m = 0; m < job_.accumulate; ++m) {
    const data::Batch& batch = next_or_blank(batches, result);
    images += batch.count / job_.mix.images_per_row();
    sums.push_back(forward_backward(batch, strength, m, result.seconds));
  }
  update(step, lr, sums, images, result);
  return result;
}

void Trainer::update(int64_t step, double lr, const std::vector<at::Tensor>& sums, int64_t images,
                     StepResult& result) {
  before_change_();  // a wait for a checkpoint is not part of `update`
  const Timed timed("update", result.seconds.update);
  result.exchange_seconds = reducer_->finish();
  average_statistics();
  at::Tensor metrics = device_meter(sums, images);
  communicator_.main.all_reduce_sum(metrics);
  if (metrics.is_cuda() && communicator_.size() > 1) {
    // NCCL only enqueues its work, so wait for it here. If another rank fails, rank 0 can save a
    // checkpoint in the phase `waiting`, but not in the phase `updating`.
    const auto waiting = communicator_.main.during(dist::Phase::waiting, "all_reduce_sum");
    models::current_stream(metrics.device()).synchronize();
  }

  communicator_.main.enter(dist::Phase::updating);
  at::NoGradGuard no_grad;
  non_finite_.zero_();
  measure_gradients(*parameters_, gradient_norm_, non_finite_);
  optimizer_->step(lr, gradient_norm_, non_finite_);
  statistics_->commit(job_.accumulate, non_finite_);
  if (ema_) ema_->update(step, non_finite_);
  const auto values = read_back({metrics, gradient_norm_, non_finite_});
  result.meter = meter_of(values[0]);
  result.gradient_norm = *values[1].const_data_ptr<double>();
  result.finite = *values[2].const_data_ptr<int32_t>() == 0;
  if (!result.finite) {
    optimizer_->set_steps(optimizer_->steps() - 1);
    result.meter = Meter{.skipped = result.meter.images};
  }
}

}  // namespace shoal::train
