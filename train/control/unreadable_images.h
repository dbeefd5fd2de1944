#pragma once
// How many of an epoch's training images could not be read; too many end the run.

#include <cstdint>
#include <string>

#include "train/run/job.h"

namespace shoal::train {

class UnreadableImages {
 public:
  explicit UnreadableImages(const ResolvedJob& job) : job_(job) {}  // which must outlive it

  void begin_epoch() { told_ = in_epoch_ = 0; }
  // Of this rank, since the last call; `in_all`: what its loader has counted in the epoch.
  int64_t fresh(int64_t in_all);
  // Of all ranks, `step_in_epoch` updates into the epoch. Returns what to say when more than one in
  // a hundred was bad, else nothing.
  std::string heard(int64_t more, int64_t step_in_epoch);

 private:
  const ResolvedJob& job_;
  int64_t told_ = 0, in_epoch_ = 0;
};

}  // namespace shoal::train
