#pragma once
// Who has how many images, where ranks do not all have the same: images that are streamed, and
// hosts that hold shares of their own. Every rank makes the same number of updates all the same.

#include <cstdint>

#include "data/loader/loader.h"
#include "dist/connect.h"
#include "dist/control_message.h"
#include "train/run/job.h"

namespace shoal::train {

// What the loader of this rank is told: loader_options() with the images it takes, which of a
// host's own share (ResolvedJob::train_sharded, val_sharded) are those that the host's ranks divide
// among themselves, in an order of the host's own; of a stream as many as an epoch has.
data::LoaderOptions share_options(const ResolvedJob& job, int rank, bool train);

// Watches over the streams of training images.
class Supply {
 public:
  // Both must outlive it.
  Supply(const ResolvedJob& job, dist::Communicator& communicator);

  // True when every rank has the images of update `step_in_epoch` (from 0 on) of the epoch under
  // way; waits until that is known. One small exchange for streams, else always true. Throws what a
  // stream threw. A stop signal ends the waiting, which stop_signal() tells then. Collective.
  bool lasts(data::Loader& loader, int64_t step_in_epoch);

  // Of any rank while it waited for its images: SIGINT, SIGTERM or 0; the same on all.
  int stop_signal() const { return stop_signal_; }

  // After lasts() said no and nobody stopped: says on rank 0 whose images ended the epoch, after
  // how many updates, and what the others were left with, for which it reads on for 5 s at most.
  // Throws std::runtime_error when there was not one update. Collective.
  void tell_end(data::Loader& loader, int64_t epoch, int64_t steps);

 private:
  const ResolvedJob& job_;
  dist::Communicator& communicator_;
  dist::ControlChannel channel_;
  int stop_signal_ = 0;
};

}  // namespace shoal::train
