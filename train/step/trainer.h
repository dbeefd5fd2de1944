#pragma once
// The training state and one step.
//
// Order of a step:
// 1. Zero the gradients.
// 2. For each micro-batch: batch → forward → loss → backward. The last backward averages the
//    gradients over the ranks.
// 3. Average the batch norm statistics and sum the metrics over the ranks. Compute the gradient
//    norm.
// 4. Update weights, optimizer state, statistics and averaged weights together, or none of them if
//    the gradient is not finite. A step changes the state only here, in Phase::updating
//    (dist/health/progress.h).
// Every rank makes the same calls and ends with bit-identical weights.

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "data/loader/batch.h"
#include "dist/connect.h"
#include "dist/gradients/gradient_reducer.h"
#include "models/model.h"
#include "train/job/job.h"
#include "train/job/meter.h"
#include "train/step/blank_batch.h"
#include "train/step/input.h"
#include "train/step/state/ema.h"
#include "train/step/state/flat_parameters.h"
#include "train/step/state/flat_statistics.h"
#include "train/step/state/optimizer.h"
#include "train/weights/checkpoint_file.h"

namespace shoal::train {

// Seconds that this rank spends in the parts of a step. On a GPU, a part ends when its work is
// enqueued; `update` includes the wait for the GPU.
struct StepSeconds {
  double input = 0;     // conversion of the batches to the network's input
  double forward = 0;   // logits and loss
  double backward = 0;  // gradients, and the part of their exchange that runs meanwhile
  double update = 0;    // remaining exchange, optimizer, statistics, averaged weights

  double sum() const { return input + forward + backward + update; }
};

// Returns the next batch, or nullptr after the last one: usually Loader::next(). May throw.
using BatchSource = std::function<const data::Batch*()>;

struct StepResult {
  Meter meter;                  // over all ranks; a non-finite step counts as skipped
  double gradient_norm = 0;     // norm of the averaged gradients, before clipping
  bool finite = true;           // false: nothing was committed
  double data_seconds = 0;      // time spent waiting for the loader
  double exchange_seconds = 0;  // time spent waiting for averaged gradients
  StepSeconds seconds;
  // Exception that this rank's loader threw, or null. After an exception, the rank takes part with
  // a blank batch whose loss is NaN. So no rank commits the step, and none waits for another.
  std::exception_ptr loader_failure;
};

class Trainer {
 public:
  // Builds the model, broadcasts rank 0's weights and checks that they are equal on all ranks.
  // Collective. Both references must outlive the trainer.
  Trainer(const ResolvedJob& job, dist::Communicator& communicator);

  // Freezes or unfreezes the layers of --freeze for the steps of `epoch`. Call it before step().
  // Collective in epochs that change which layers are trained.
  void set_epoch(int64_t epoch);

  // Runs one step with the learning rate `lr`, and with dropout rates multiplied by `strength`.
  // Uses the next job.accumulate batches of `batches`, which must have that many left. `step` is
  // 0-based. Collective.
  StepResult step(const BatchSource& batches, int64_t step, double lr, double strength = 1);

  // The next step() calls this function once, with the network's input for the first micro-batch
  // (N×C×H×W on the device) and the normalization that was applied to it.
  using ShowImages = std::function<void(const at::Tensor& images, const Normalization&)>;
  void show_next_images(ShowImages show) { show_images_ = std::move(show); }

  // Consumes the batches of one step without training on them, for steps that only skip their
  // images (Position::skip_until). Call it on every rank. Sets only meter, data_seconds and
  // loader_failure in the result.
  StepResult skip(const BatchSource& batches);

  // Returns the approximate size of a checkpoint in bytes: that of save()'s tensors.
  int64_t state_bytes() const;
  // Stores the optimizer's step counts in `data`. The caller adds the tensors (save_tensors()) and
  // the position (write_position()).
  void save_counts(CheckpointData& data) const;
  // Stores contiguous CPU copies of weights, buffers, averages and optimizer state in `data`. If
  // `data` has tensors of an earlier call, overwrites them. If the state is in CPU memory, another
  // thread may call it while no function changes the state (set_before_change()).
  void save_tensors(CheckpointData& data) const;
  // Makes load(), swap_ema() and each step call `wait` before they change what save_tensors()
  // copies.
  void set_before_change(std::function<void()> wait) { before_change_ = std::move(wait); }
  // Restores the state that was stored. Call it on every rank. Throws std::runtime_error or
  // UserError that names what is missing or has another shape. `weights_only`: loads no optimizer
  // state (for evaluation, and to start from other weights).
  void load(const CheckpointData& data, bool weights_only = false);

  const Ema* ema() const { return ema_.get(); }
  void swap_ema();  // calls Ema::swap(); there must be averages
  FlatParameters& parameters() { return *parameters_; }
  const FlatParameters& parameters() const { return *parameters_; }
  FlatStatistics& statistics() { return *statistics_; }
  models::Classifier& model() { return *model_; }
  ops::Type compute_type() const { return compute_type_; }  // of the activations

 private:
  const data::Batch& next(const BatchSource& batches, StepResult& result);
  const data::Batch& next_or_blank(const BatchSource& batches, StepResult& result);
  // Processes one micro-batch and returns models::LossResult::sums. On return, the device has read
  // the batch. `index`: index of the micro-batch in the step. Adds its times to `seconds`.
  at::Tensor forward_backward(const data::Batch& batch, double strength, int64_t index,
                              StepSeconds& seconds);
  void average_statistics();
  // Does parts 3 and 4 of a step (see the top of this file): waits for the averaged gradients,
  // exchanges statistics and metrics, and changes the state. `sums`: models::LossResult::sums of
  // each micro-batch. `images`: number of this rank's images in the step. Completes `result`.
  void update(int64_t step, double lr, const std::vector<at::Tensor>& sums, int64_t images,
              StepResult& result);
  void load_first_steps(const CheckpointData& data);
  // Freezes the first `stages` stages and, with --freeze-bn, all batch norm layers. The others
  // are trained. Collective.
  void freeze(int64_t stages);

  const ResolvedJob& job_;
  dist::Communicator& communicator_;
  ops::Type compute_type_;
  std::unique_ptr<models::Classifier> model_;
  std::unique_ptr<FlatParameters> parameters_;
  std::unique_ptr<FlatStatistics> statistics_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Ema> ema_;
  std::unique_ptr<dist::GradientReducer> reducer_;
  std::vector<size_t> reducer_index_;  // index in reducer_ of each trained parameter
  std::function<void(at::Tensor&)> sum_across_ranks_;
  int64_t frozen_stages_ = 0;
  at::Tensor class_weights_;  // float64; undefined: all 1
  at::Tensor gradient_norm_, non_finite_;
  BlankBatch blank_;
  ShowImages show_images_;  // for the next step(); empty: not called
  std::function<void()> before_change_ = [] {};
};

// Loads a checkpoint's weights into the model, for `shoal eval` and `shoal predict`: the averaged
// ones if there are any and `ema` is true. Switches the model to evaluation mode. Throws
// std::runtime_error that names what is missing or has another shape.
void load_weights(models::Classifier& model, const CheckpointData& data, bool ema);

// Returns contiguous copies of a model's parameters and buffers, by their names. The model must be
// float32 and on the CPU.
NamedTensors weights_of(models::Classifier& model);

}  // namespace shoal::train
