#pragma once
// Metrics of an epoch's steps. They are summed over ranks only when the result is needed, because
// that is a collective.

#include "train/run/evaluate.h"

namespace shoal::train {

class EpochMetrics {
 public:
  // `epoch_sum`: sum over the epoch and all ranks, which reduce() updates. Both references must
  // outlive this object.
  EpochMetrics(dist::Group& group, Meter& epoch_sum) : group_(group), epoch_sum_(epoch_sum) {}

  void add(const Meter& step) { here_.add(step); }  // adds a step of this rank

  // Adds the steps of this rank that reduce() has not added yet to `sum`.
  void add_own(Meter& sum) const { sum.add(here_); }

  // Brings epoch_sum up to date, and sums `step` over all ranks in place. Collective.
  void reduce(Meter& step) {
    train::reduce(group_, {&step, &here_});
    epoch_sum_.add(here_);
    here_ = {};
  }
  void reduce() {
    Meter none;
    reduce(none);
  }

 private:
  dist::Group& group_;
  Meter& epoch_sum_;
  Meter here_;  // of this rank, since the last reduce()
};

}  // namespace shoal::train
