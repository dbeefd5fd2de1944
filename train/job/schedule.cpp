#include "train/job/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "train/job/job.h"

namespace shoal::train {
namespace {

// Interpolates from `start` at 0 to `end` at 1 along half a cosine.
double half_cosine(double start, double end, double progress) {
  return end + (start - end) / 2 * (1 + std::cos(std::numbers::pi * progress));
}

double one_cycle(const ScheduleOptions& options, int64_t step, int64_t total_steps) {
  const double initial = options.lr / options.initial_divisor;
  const double last = static_cast<double>(total_steps - 1);
  const double top = options.rise_fraction * static_cast<double>(total_steps) - 1;
  const double now = std::min(static_cast<double>(step), last);
  if (now <= top) return half_cosine(initial, options.lr, top > 0 ? now / top : 1);
  const double start = std::max(top, 0.0);
  const double progress = last > start ? (now - start) / (last - start) : 1;
  return half_cosine(options.lr, initial / options.final_divisor, progress);
}

}  // namespace

double learning_rate(const ScheduleOptions& options, int64_t step, int64_t steps_per_epoch,
                     int64_t total_steps) {
  if (options.kind == ScheduleOptions::Kind::one_cycle)
    return one_cycle(options, step, total_steps);
  const int64_t warmup = std::min<int64_t>(
      std::llround(options.warmup_epochs * static_cast<double>(steps_per_epoch)), total_steps);
  if (step < warmup) {
    const double progress = static_cast<double>(step) / static_cast<double>(warmup);
    return options.lr * (options.warmup_start + (1 - options.warmup_start) * progress);
  }
  switch (options.kind) {
    case ScheduleOptions::Kind::cosine: {
      const double length = static_cast<double>(std::max<int64_t>(total_steps - warmup, 1));
      const double progress = static_cast<double>(step - warmup) / length;
      return half_cosine(options.lr, options.min_lr, std::min(progress, 1.0));
    }
    case ScheduleOptions::Kind::step: {
      // Adds 1e-9, because rounding may make quotients such as 12 / 2.4 smaller than 5.
      const double epoch = static_cast<double>(std::min(step, total_steps - 1)) /
                           static_cast<double>(steps_per_epoch);
      const double drops = std::floor(epoch / options.decay_epochs + 1e-9);
      return std::max(options.lr * std::pow(options.decay_rate, drops), options.min_lr);
    }
    default:
      return options.lr;
  }
}

// Evaluates the schedule for a run with 2^20 steps per epoch, so rounding to a step is negligible.
double learning_rate_at(const ScheduleOptions& options, double progress, double epochs) {
  constexpr int64_t kPerEpoch = 1 << 20;
  const double total = std::max(1.0, epochs * kPerEpoch);
  return learning_rate(options, std::llround(progress * total), kPerEpoch, std::llround(total));
}

double learning_rate(const ResolvedJob& job, int64_t step, double progress) {
  return job.time_budget > 0
             ? learning_rate_at(job.schedule, progress, job.epochs)
             : learning_rate(job.schedule, step, job.steps_per_epoch, job.total_steps);
}

}  // namespace shoal::train
