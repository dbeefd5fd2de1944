#pragma once
// Counts the training images of an epoch that could not be read; too many end the run. Torch-free.

#include <cstdint>
#include <string>

#include "train/run/job.h"

namespace shoal::train {

class UnreadableImages {
 public:
  explicit UnreadableImages(const ResolvedJob& job) : job_(job) {}  // which must outlive it

  void begin_epoch() { seen_here_ = in_epoch_ = 0; }
  // Returns how many this rank has met since the last call. `in_epoch`: its loader's count.
  int64_t take_new(int64_t in_epoch);
  // Adds the new ones of all ranks, `step_in_epoch` steps into the epoch. Returns the reason to stop
  // if more than 1 % of the images are unreadable, else an empty string.
  std::string add(int64_t count, int64_t step_in_epoch);

 private:
  const ResolvedJob& job_;
  int64_t seen_here_ = 0;  // of this rank, up to the last take_new()
  int64_t in_epoch_ = 0;   // over all ranks
};

}  // namespace shoal::train
