#pragma once
// The learning rate of each step. It is a pure function of the step number, so checkpoints contain
// no schedule state.

#include <cstdint>
#include <string>
#include <string_view>

namespace shoal::train {

struct ScheduleOptions {
  enum class Kind {
    constant,   // `lr` after the warm-up
    cosine,     // half a cosine from `lr` at the end of the warm-up to `min_lr` after the last step
    step,       // lr * decay_rate^floor(epoch / decay_epochs); epochs include the warm-up
    one_cycle,  // PyTorch's OneCycleLR (cosine): rises to `lr`, then falls to almost 0
  };
  Kind kind = Kind::cosine;
  // Peak learning rate. Scale it with the global batch size (linearly for SGD and RMSprop).
  double lr = 0.1;
  // Epochs in which the learning rate rises linearly from `warmup_start * lr` to `lr`; 0: none. Use
  // 5 for global batches above 1024.
  double warmup_epochs = 0;
  // Learning rate at the start of the warm-up as a fraction of `lr`; with 0, the first step has no
  // effect. one_cycle has its own warm-up and ignores both warm-up options.
  double warmup_start = 0.01;
  double min_lr = 0;  // cosine: final learning rate; step: lower limit
  // step: number of epochs between drops, and the factor of each drop. Usual values: 30 and 0.1 for
  // ResNet, 2.4 and 0.97 for EfficientNet.
  double decay_epochs = 30;
  double decay_rate = 0.1;
  double rise_fraction = 0.3;   // one_cycle: fraction of the steps in which the rate rises
  double initial_divisor = 25;  // one_cycle: lr / first learning rate
  double final_divisor = 1e4;   // one_cycle: first / last learning rate
};

// Returns the learning rate of the 0-based `step` in a run of `total_steps` with `steps_per_epoch`
// steps per epoch (both at least 1). For steps past the end, cosine returns min_lr, and the other
// kinds return the rate of the last step. `cosine` equals PyTorch's LinearLR followed by
// CosineAnnealingLR, and `one_cycle` equals OneCycleLR.
double learning_rate(const ScheduleOptions& options, int64_t step, int64_t steps_per_epoch,
                     int64_t total_steps);

// Returns the learning rate after the fraction `progress` (0 to 1) of a run of `epochs` epochs. For
// runs with --time-budget.
double learning_rate_at(const ScheduleOptions& options, double progress, double epochs);

struct ResolvedJob;

// Returns the learning rate of the 0-based `step` of a run. `progress`: the used fraction of
// --time-budget (TimeBudget::progress()); ignored without a budget.
double learning_rate(const ResolvedJob& job, int64_t step, double progress);

}  // namespace shoal::train
