#pragma once
// Counts the training images of an epoch that could not be read. If there are too many, the run
// stops. Torch-free.

#include <cstdint>
#include <string>

#include "train/job/job.h"

namespace shoal::train {

class UnreadableImages {
 public:
  explicit UnreadableImages(const ResolvedJob& job)
      : job_(job) {}  // `job` must outlive this object

  void begin_epoch() { seen_here_ = in_epoch_ = 0; }
  // Returns the number of unreadable images of this rank since the last call. `in_epoch`: number
  // since the epoch began, from the rank's loader.
  int64_t take_new(int64_t in_epoch);
  // Adds `count` unreadable images of all ranks, after `step_in_epoch` steps of the epoch. Returns
  // the reason to stop if more than 1 % of the images are unreadable, otherwise an empty string.
  std::string add(int64_t count, int64_t step_in_epoch);

 private:
  const ResolvedJob& job_;
  int64_t seen_here_ = 0;  // in this epoch on this rank, up to the last take_new()
  int64_t in_epoch_ = 0;   // in this epoch, over all ranks
};

}  // namespace shoal::train
