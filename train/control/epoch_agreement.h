#pragma once
// Keeps ranks in step when they hold different numbers of images (streams, per-host shards): all
// ranks end the epoch at the same step.

#include <cstdint>
#include <string>
#include <vector>

#include "data/loader/loader.h"
#include "dist/connect.h"
#include "dist/control_message.h"
#include "train/run/job.h"

namespace shoal::train {

// What is left of the stream of one rank when the epoch ends.
struct StreamRest {
  int64_t images = 0;     // unused images, as far as they were counted
  bool complete = false;  // the stream was counted to its end
};

class EpochAgreement {
 public:
  // Both must outlive it.
  EpochAgreement(const ResolvedJob& job, dist::Communicator& communicator);

  // Returns true if every rank has the images of step `step_in_epoch` (from 0). Blocks until all
  // ranks have answered; a stop signal on any rank ends the wait, see stop_signal(). Returns true at
  // once unless images are streamed. Throws what the stream threw. Collective.
  bool all_ranks_have_data(data::Loader& loader, int64_t step_in_epoch);

  // Returns true if every rank passes true. Otherwise passes on this process's stop signal.
  // Collective.
  bool agree(bool has_data);

  // The signal that ended the last wait on any rank: SIGINT, SIGTERM or 0; the same on all ranks.
  int stop_signal() const { return stop_signal_; }

  // After all_ranks_have_data() returned false without a stop signal: logs on rank 0 which ranks ran
  // out of images, after how many steps, and how many images the others have left. Reads streams on
  // for at most 5 s to count them. Throws std::runtime_error after an epoch of 0 steps. Collective.
  void report_end(data::Loader& loader, int64_t epoch, int64_t steps);

 private:
  const ResolvedJob& job_;
  dist::Communicator& communicator_;
  dist::ControlChannel channel_;
  int stop_signal_ = 0;
};

// The message of report_end(). `rests`: by rank. Throws as report_end() does.
std::string epoch_end_message(const ResolvedJob& job, int64_t epoch, int64_t steps,
                              const std::vector<StreamRest>& rests);

}  // namespace shoal::train
