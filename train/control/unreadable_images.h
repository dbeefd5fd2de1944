#pragma once
// Counts the training images of an epoch that could not be read. If there are too many, the run
// stops. Does not use LibTorch.

#include <cstdint>
#include <string>

#include "train/job/job.h"

namespace shoal::train {

class UnreadableImages {
 public:
  // `in_epoch`: unreadable images of this epoch on all ranks; add() updates it. Both references
  // must outlive this object.
  UnreadableImages(const ResolvedJob& job, int64_t& in_epoch) : job_(job), in_epoch_(in_epoch) {}

  // Call it when the rank's loader starts an epoch. `first_step`: steps of the epoch that were
  // already finished (resume).
  void begin_epoch(int64_t first_step) {
    seen_here_ = 0;
    if (first_step == 0) in_epoch_ = 0;
  }
  // Returns the number of this rank's unreadable images since the last call. `in_epoch`: number of
  // unreadable images that the loader has counted since begin_epoch().
  int64_t take_new(int64_t in_epoch);
  // Adds `count` unreadable images of all ranks, after `step_in_epoch` steps of the epoch. Returns
  // the reason to stop if `count` is not 0 and more than 1 % of the epoch's images are unreadable,
  // otherwise an empty string. After the images are repaired, `count` stays 0, so a resumed run
  // continues.
  std::string add(int64_t count, int64_t step_in_epoch);

 private:
  const ResolvedJob& job_;
  int64_t& in_epoch_;
  int64_t seen_here_ = 0;  // `in_epoch` in the last take_new(); 0 after begin_epoch()
};

}  // namespace shoal::train
