#include "train/control/time_budget.h"

#include <algorithm>

namespace shoal::train {
namespace {

constexpr double kNewest = 0.2;  // weight of the newest step in the moving average

}  // namespace

void TimeBudget::arrived(int64_t step, double trained) {
  if (previous_ && step == known_step_ + 1) {
    const double seconds = trained - *previous_;
    step_seconds_ += (step_seconds_ > 0 ? kNewest : 1) * (seconds - step_seconds_);
  }
  known_step_ = step;
  known_ = trained;
  previous_ = trained;
}

double TimeBudget::progress(int64_t steps) const {
  if (budget_ <= 0) return 0;
  const double seconds = known_ + static_cast<double>(steps - known_step_) * step_seconds_;
  return std::clamp(seconds / budget_, 0.0, 1.0);
}

}  // namespace shoal::train
