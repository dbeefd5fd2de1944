#pragma once
// The learning rate of every step, as a pure function: nothing is stored, so resuming needs only
// the step number.

#include <cstdint>
#include <string>
#include <string_view>

namespace shoal::train {

// All of these change the result.
struct ScheduleOptions {
  enum class Kind {
    constant,   // `lr` from the end of the warm-up on
    cosine,     // half a cosine from `lr` at the end of the warm-up to `min_lr` at the last step
    step,       // lr * decay_rate^floor(epoch / decay_epochs); the warm-up counts as epochs too
    one_cycle,  // PyTorch's OneCycleLR (cosine): up to `lr`, then down to almost nothing
  };
  Kind kind = Kind::cosine;
  // Highest learning rate, for the global batch. Raise it with the batch (linearly for SGD and
  // RMSprop).
  double lr = 0.1;
  // Epochs over which the rate rises linearly from `warmup_start * lr` to `lr`; 0..; 0: none. 5 for
  // batches above 1024.
  double warmup_epochs = 0;
  // Rate of the first step as a fraction of `lr`; 0 makes the first step do nothing. one_cycle has
  // a warm-up of its own and ignores these two.
  double warmup_start = 0.01;
  double min_lr = 0;  // cosine: the rate it falls to; step: the rate it never falls below
  // step: epochs between two drops and the factor of each. ResNet: 30 and 0.1. EfficientNet: 2.4
  // and 0.97.
  double decay_epochs = 30;
  double decay_rate = 0.1;
  // one_cycle: share of all steps that rise; lr / first rate; first rate / last rate.
  double rise_fraction = 0.3;
  double initial_divisor = 25;
  double final_divisor = 1e4;
};

// Learning rate of the 0-based `step` of a run of `total_steps` with `steps_per_epoch` steps an
// epoch; both at least 1. Steps past the end keep the last rate. Equal to PyTorch's LinearLR
// followed by CosineAnnealingLR, and to OneCycleLR.
double learning_rate(const ScheduleOptions& options, int64_t step, int64_t steps_per_epoch,
                     int64_t total_steps);

}  // namespace shoal::train
