#pragma once
// Exponential moving average of the weights and of the batch-norm statistics (as timm's ModelEma:
// floating-point buffers are averaged too, integer ones are not).

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "train/step/flat_parameters.h"
#include "train/step/flat_statistics.h"
#include "train/step/optimizer_options.h"

namespace shoal::train {

// The decay of the 0-based `step`: options.decay, or less during the warm-up.
double ema_decay(const EmaOptions& options, int64_t step);

class Ema {
 public:
  // Starts as a copy of the current values. Both must outlive the average. options.decay must not
  // be 0.
  Ema(const EmaOptions& options, FlatParameters& parameters, FlatStatistics& statistics);
  Ema(const Ema&) = delete;
  Ema& operator=(const Ema&) = delete;

  // Call after Optimizer::step and FlatStatistics::commit. `non_finite` as there. `step` is
  // 0-based. Enqueues only.
  void update(int64_t step, const at::Tensor& non_finite = {});

  // In the layouts of FlatParameters::flat() and FlatStatistics::running().
  const at::Tensor& parameters() const { return average_; }
  const at::Tensor& running() const { return running_average_; }

  // Exchanges the averages with the model's values (copies included): evaluate between two calls.
  // Training or checkpointing between them would see the wrong weights.
  void swap();

 private:
  EmaOptions options_;
  FlatParameters& flat_;
  FlatStatistics& statistics_;
  at::Tensor average_, running_average_;
};

}  // namespace shoal::train
