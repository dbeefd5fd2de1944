#pragma once
// Metrics of an epoch's steps. They are summed over ranks only when the result is needed, because
// that is a collective.

#include <cstdint>
#include <optional>

#include "train/run/evaluate.h"

namespace shoal::train {

class EpochMetrics {
 public:
  // `epoch_sum`: sum over the epoch and all ranks, which reduce() updates. It includes the first
  // `step` steps of the run. `last_step`: metrics of all ranks at the last of them, if known. Both
  // references must outlive this object.
  EpochMetrics(dist::Group& group, Meter& epoch_sum, int64_t step = 0,
               std::optional<Meter> last_step = {})
      : group_(group), epoch_sum_(epoch_sum), steps_(step), arrived_(step), last_step_(last_step) {}

  // Adds the next step of this rank.
  void add(const Meter& step) {
    here_.add(step);
    ++steps_;
    last_step_ = group_.size() == 1 ? std::optional(step) : std::nullopt;
  }
  // Adds the metrics of all ranks at step `step` (from 1), which came with the control message.
  // Only reduce_alone() and last_step() use them.
  void add_arrived(const Meter& all, int64_t step) {
    if (step == steps_) last_step_ = all;
    if (step <= arrived_) return;
    all_.add(all);
    arrived_ = step;
  }

  // Brings epoch_sum up to date without a collective. Returns false if other ranks' metrics of the
  // last steps have not arrived. The epoch's sum then contains only this rank's metrics of the
  // steps since the last reduce(). Call at most once, and no other function afterwards.
  bool reduce_alone() {
    const bool complete = group_.size() == 1 || arrived_ == steps_;
    epoch_sum_.add(complete && group_.size() > 1 ? all_ : here_);
    return complete;
  }

  // The metrics of all ranks at the last step. Not set if neither add_arrived() nor reduce() was
  // given them.
  const std::optional<Meter>& last_step() const { return last_step_; }

  // Brings epoch_sum up to date, and sums `step` over all ranks in place. `step`: this rank's last
  // step, or empty. Collective.
  void reduce(Meter& step) {
    train::reduce(group_, {&step, &here_});
    if (!step.empty()) last_step_ = step;
    epoch_sum_.add(here_);
    here_ = all_ = {};
    arrived_ = steps_;
  }
  void reduce() {
    Meter none;
    reduce(none);
  }

 private:
  dist::Group& group_;
  Meter& epoch_sum_;
  Meter here_;     // of this rank, since the last reduce()
  Meter all_;      // of all ranks, since the last reduce() up to the step `arrived_`
  int64_t steps_;  // of the run
  int64_t arrived_;
  std::optional<Meter> last_step_;
};

}  // namespace shoal::train
