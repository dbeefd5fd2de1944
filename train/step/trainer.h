#pragma once
// The state of a training run and one update of it.
//
// Order of an update: zero gradients; A times batch → forward → loss → backward (the last backward
// reduces over ranks); average batch statistics over ranks; measure the gradient; then optimizer,
// statistics and average commit together, or none of them does when the gradient is not finite.
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
  Meter meter;               // of this rank; an update that is not finite counts as skipped
  double gradient_norm = 0;  // before clipping, of the gradient averaged over ranks
  bool finite = true;        // false: nothing was committed
  double data_seconds = 0;   // waiting for the loader
};

class Trainer {
 public:
  // Builds the model, gives every rank rank 0's weights and checks that they are equal. Collective.
  Trainer(const ResolvedJob& job, dist::Communicator& communicator);

  // One update at `lr`, with dropout multiplied by `strength`, from the next accumulate() batches
  // of `loader`, which must have them. Collective.
  StepResult update(data::Loader& loader, int64_t step, double lr, double strength = 1);

  // Takes as many batches and does nothing with them.
  StepResult skip(data::Loader& loader);

  // About the size of a checkpoint, which holds little besides save()'s tensors.
  int64_t state_bytes() const;
  // Contiguous copies of everything that training changes.
  void save(CheckpointData& data) const;
  // The same back, on every rank. Throws std::runtime_error naming what is missing or has another
  // shape. weights_only: without the optimizer's state, for evaluation.
  void load(const CheckpointData& data, bool weights_only = false);

  Ema* ema() { return ema_.get(); }
  FlatParameters& parameters() { return *parameters_; }
  const FlatParameters& parameters() const { return *parameters_; }
  FlatStatistics& statistics() { return *statistics_; }
  models::Classifier& model() { return *model_; }
  ops::Type compute_type() const { return compute_type_; }  // of activations

 private:
  const data::Batch& next(data::Loader& loader, StepResult& result);
  // Returns models::LossResult::sums, and the batch to the loader: the device has read it.
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

// The named model with a checkpoint's weights (the averaged ones when it has them and `ema`), in
// evaluation mode, for `eval` and `predict`. Throws std::runtime_error naming what does not fit.
void load_weights(models::Classifier& model, const CheckpointData& data, bool ema);

}  // namespace shoal::train
