#pragma once
// Keeps ranks in step when their streams hold different numbers of images: all ranks end the epoch
// at the same step. Also ends the run on all ranks if one rank cannot read its images.

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "data/loader/loader.h"
#include "dist/connect.h"
#include "dist/control_message.h"
#include "train/job/job.h"

namespace shoal::train {

// The unused images of one rank's stream at the end of an epoch.
struct StreamRest {
  int64_t images = 0;     // number of unused images that were counted
  bool complete = false;  // whether counting reached the end of the stream
};

class EpochAgreement {
 public:
  // Both references must outlive this object.
  EpochAgreement(const ResolvedJob& job, dist::Communicator& communicator);

  // Returns true if every rank has the images of step `step_in_epoch` (from 0). Blocks until all
  // ranks have answered. Returns true at once if images are not streamed. If a rank that waits for
  // images gets a stop signal, its wait ends and all ranks return false, see stop_signal(). A rank
  // whose stream fails counts as having no images, see failure(). Collective.
  bool all_ranks_have_data(data::Loader& loader, int64_t step_in_epoch);

  // Returns true if every rank passes true. A rank that passes false also sends its stop signal to
  // the others, see stop_signal(). Collective.
  bool agree(bool has_data);

  // If any rank could not read its images, calls `save` on every rank and then throws on every
  // rank. `failure`: this rank's exception, or null. Throws `failure` if it is set, otherwise
  // std::runtime_error. Collective.
  void require_images(const std::exception_ptr& failure, const std::function<void()>& save = {});

  // Returns the signal that ended the last wait on any rank: SIGINT, SIGTERM, or 0 if none did. The
  // same on all ranks.
  int stop_signal() const { return stop_signal_; }

  // Exception that this rank's stream threw in the last wait, or null.
  const std::exception_ptr& failure() const { return failure_; }

  // Logs on rank 0 which ranks ran out of images, after how many steps, and how many images the
  // epoch left out. To count the left-out images, reads the streams for up to 5 s more. Call it
  // after all_ranks_have_data() has returned false without a stop signal or failure. `steps`:
  // number of steps of the epoch; if it is 0, throws std::runtime_error on all ranks. Collective.
  void report_end(data::Loader& loader, int64_t epoch, int64_t steps);

 private:
  const ResolvedJob& job_;
  dist::Communicator& communicator_;
  dist::ControlChannel channel_;
  int stop_signal_ = 0;
  std::exception_ptr failure_;
};

// Returns the message of report_end(). `rests`: of all ranks, in rank order. Throws like
// report_end().
std::string epoch_end_message(const ResolvedJob& job, int64_t epoch, int64_t steps,
                              const std::vector<StreamRest>& rests);

}  // namespace shoal::train
