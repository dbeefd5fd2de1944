#pragma once
// Exponential moving average of the parameters and the batch norm statistics. Like timm's ModelEma,
// does not average integer buffers (num_batches_tracked).

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "train/job/optimizer_options.h"
#include "train/step/state/flat_parameters.h"
#include "train/step/state/flat_statistics.h"

namespace shoal::train {

// Returns the decay at the 0-based `step`: options.decay, or less during its warm-up.
double ema_decay(const EmaOptions& options, int64_t step);

class Ema {
 public:
  // The averages start as copies of the current parameters and statistics. `parameters` and
  // `statistics` must outlive this object. options.decay must not be 0.
  Ema(const EmaOptions& options, FlatParameters& parameters, FlatStatistics& statistics);
  Ema(const Ema&) = delete;
  Ema& operator=(const Ema&) = delete;

  // Call after Optimizer::step and FlatStatistics::commit, with the same `non_finite`. `step` is
  // 0-based. Only enqueues work.
  void update(int64_t step, const at::Tensor& non_finite = {});

  // The averages, in the layouts of FlatParameters::flat() and FlatStatistics::running().
  const at::Tensor& parameters() const { return average_; }
  const at::Tensor& running() const { return running_average_; }

  // Exchanges the averages with the model's values and updates the low-precision copies. Call it
  // before and after an evaluation of the averages. Do not train or save in between: the averages'
  // buffers then contain the model's values.
  void swap();
  bool swapped() const { return swapped_; }  // after an odd number of swap()s

 private:
  EmaOptions options_;
  FlatParameters& flat_;
  FlatStatistics& statistics_;
  at::Tensor average_, running_average_;
  bool swapped_ = false;
};

}  // namespace shoal::train
