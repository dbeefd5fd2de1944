#pragma once
// What every rank tells the others once per step, so that all of them stop, save and count at the
// same step.
//
//   loop, step s:   word = channel.collect();     // what all ranks said at step s-1
//                   … act on word: the same decision on every rank …
//                   channel.post(mine);           // what this rank has to say at step s
//
// post() starts one small asynchronous sum over a Gloo group of its own (also in NCCL runs);
// collect() waits for it, one step later, when it has long arrived. A group of one behaves alike,
// delay included.

#include <cstdint>
#include <memory>

#include "dist/group.h"

namespace shoal::dist {

struct ControlWord {
  int stop_signal = 0;  // posted: 0, SIGINT or SIGTERM. Collected: the highest of all ranks
  // Posted by any rank; for saving by time by rank 0, whose clock counts.
  bool checkpoint_requested = false;
  // Summed over ranks:
  int64_t unreadable_images = 0;  // damaged images since the last word
  int64_t images = 0;             // images of this step's committed update
  double loss_sum = 0;      // their losses, on the grid of 2^-24 that adds up without rounding
  int64_t out_of_data = 0;  // ranks whose data does not suffice for another step

  bool operator==(const ControlWord&) const = default;
};

class ControlChannel {
 public:
  explicit ControlChannel(const Group& group);  // Communicator::control
  ~ControlChannel();                            // does not wait for a posted word
  ControlChannel(const ControlChannel&) = delete;
  ControlChannel& operator=(const ControlChannel&) = delete;

  // Starts the exchange of one word; the previous one must have been collected (else
  // std::logic_error). std::invalid_argument for a stop signal other than 0, SIGINT, SIGTERM.
  void post(const ControlWord& word);

  // Waits for the posted word of all ranks. An empty word when nothing is posted. Throws
  // std::runtime_error naming rank and operation when a peer fails or the group's timeout passes.
  ControlWord collect();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shoal::dist
