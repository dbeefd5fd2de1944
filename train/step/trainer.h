#pragma once
// The training state and one step.
//
// Order of a step: zero the gradients; A times batch → forward → loss → backward (the last backward
// reduces over the ranks); average the batch statistics over the ranks; measure the gradient;
// commit optimizer, statistics and average together, or none of them if the gradient is not finite.
// Every rank makes the same calls and ends with the same bits.

#include <memory>
#include <optional>

#include "data/loader/loader.h"
#include "dist/connect.h"
#include "dist/gradient_reducer.h"
#include "models/model.h"
#include "train/checkpoint/checkpoint_file.h"
#include "train/run/job.h"
#include "train/run/meter.h"
#include "train/step/ema.h"
#include "train/step/flat_parameters.h"
#include "train/step/flat_statistics.h"
#include "train/step/input.h"
#include "train/step/optimizer.h"

namespace shoal::train {

struct StepResult {
  Meter meter;               // of this rank; a non-finite step counts as skipped
  double gradient_norm = 0;  // before clipping, averaged over ranks
  bool finite = true;        // false: nothing was committed
  double data_seconds = 0;   // time spent waiting for the loader
};

class Trainer {
 public:
  // Builds the model, broadcasts rank 0's weights and verifies that all ranks are equal.
  // Collective.
  Trainer(const ResolvedJob& job, dist::Communicator& communicator);

  // Runs one step at learning rate `lr`, with dropout multiplied by `strength`, on the next
  // accumulate() batches of `loader`. It must have that many left. Collective.
  StepResult step(data::Loader& loader, int64_t step, double lr, double strength = 1);

  // Takes the batches of one step without training on them.
  StepResult skip(data::Loader& loader);

  // Approximate size of a checkpoint, which holds little besides save()'s tensors.
  int64_t state_bytes() const;
  // Adds contiguous copies of all state that training changes.
  void save(CheckpointData& data) const;
  // Restores what save() stored. Call on every rank. Throws std::runtime_error naming what is
  // missing or has another shape. weights_only: without the optimizer state, for evaluation.
  void load(const CheckpointData& data, bool weights_only = false);

  Ema* ema() { return ema_.get(); }
  FlatParameters& parameters() { return *parameters_; }
  const FlatParameters& parameters() const { return *parameters_; }
  FlatStatistics& statistics() { return *statistics_; }
  models::Classifier& model() { return *model_; }
  ops::Type compute_type() const { return compute_type_; }  // of the activations

 private:
  const data::Batch& next(data::Loader& loader, StepResult& result);
  // Returns models::LossResult::sums, and returns the batch to the loader once the device has read
  // it.
  at::Tensor forward_backward(const data::Batch& batch, double strength, bool last);
  void average_statistics();

  const ResolvedJob& job_;
  dist::Communicator& communicator_;
  ops::Type compute_type_;
  std::unique_ptr<models::Classifier> model_;
  std::unique_ptr<FlatParameters> parameters_;
  std::unique_ptr<FlatStatistics> statistics_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Ema> ema_;
  std::unique_ptr<dist::GradientReducer> reducer_;
  std::function<void(at::Tensor&)> sum_across_ranks_;
  at::Tensor gradient_norm_, non_finite_;
};

// Loads a checkpoint's weights into the model (the averaged ones if it has them and `ema` is set)
// and switches to evaluation mode, for `eval` and `predict`. Throws std::runtime_error naming what
// does not fit.
void load_weights(models::Classifier& model, const CheckpointData& data, bool ema);

}  // namespace shoal::train
