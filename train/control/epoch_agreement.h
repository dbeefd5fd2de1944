#pragma once
// Makes all ranks end the epoch at the same step, even if their streams hold different numbers of
// images. Also ends the run on all ranks if one rank cannot read its images.

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

// Images left in one rank's stream at the end of an epoch.
struct StreamRest {
  int64_t images = 0;     // number of unused images; a lower bound unless complete
  bool complete = false;  // whether counting reached the end of the stream
};

class EpochAgreement {
 public:
  // Both references must outlive this object.
  EpochAgreement(const ResolvedJob& job, dist::Communicator& communicator);

  // Returns true if every rank has the images of step `step_in_epoch` (from 0). Blocks until all
  // ranks have answered; without streams, returns true at once. Returns false on all ranks if a
  // rank receives a stop signal while it waits for images (see stop_signal()) or its stream fails
  // (see failure()). Collective.
  bool all_ranks_have_data(data::Loader& loader, int64_t step_in_epoch);

  // Returns true if every rank passes true. A rank that passes false also sends its stop signal, if
  // any, to the others (see stop_signal()). Collective.
  bool agree(bool has_data);

  // If any rank could not read its images, calls `save` on every rank and then throws on every
  // rank. `failure`: this rank's exception, or null. Throws `failure` if it is set, otherwise
  // std::runtime_error. Collective.
  void require_images(const std::exception_ptr& failure, const std::function<void()>& save = {});

  // Returns the stop signal that the ranks exchanged in the last call of agree() or
  // all_ranks_have_data(): SIGINT, SIGTERM or 0. The same on all ranks.
  int stop_signal() const { return stop_signal_; }

  // Returns the exception that this rank's stream threw, or null.
  const std::exception_ptr& failure() const { return failure_; }

  // Logs on rank 0 which ranks ran out of images, after how many steps, and how many images the
  // epoch left out. Reads the streams for up to 5 s more to count these images. Call it after
  // all_ranks_have_data() has returned false without a stop signal or failure. `steps`: number of
  // steps of the epoch; if it is 0, throws std::runtime_error on all ranks. Collective.
  void report_end(data::Loader& loader, int64_t epoch, int64_t steps);

 private:
  const ResolvedJob& job_;
  dist::Communicator& communicator_;
  dist::ControlChannel channel_;
  int stop_signal_ = 0;
  std::exception_ptr failure_;
};

// Returns the message of report_end(). `rests`: one entry per rank, in rank order. Throws like
// report_end().
std::string epoch_end_message(const ResolvedJob& job, int64_t epoch, int64_t steps,
                              const std::vector<StreamRest>& rests);

}  // namespace shoal::train
