#pragma once
// The control message: exchanged by all ranks once per step, so that all of them stop, save and
// count at the same step.
//
//   loop, step s:   message = channel.collect();  // from all ranks, for step s-1
//                   … act on message: the same decision on every rank …
//                   channel.post(mine);           // from this rank, for step s
//
// post() starts one small asynchronous all-reduce on its own Gloo group (also in NCCL runs).
// collect() waits for it one step later, when it has usually finished. A group of one behaves the
// same, including the delay.

#include <cstdint>
#include <memory>

#include "dist/group.h"

namespace shoal::dist {

struct ControlMessage {
  int stop_signal = 0;  // posted: 0, SIGINT or SIGTERM. Collected: the highest of all ranks
  // May be posted by any rank. Only rank 0 posts it for periodic saving, because its clock decides.
  bool checkpoint_requested = false;
  // Summed over the ranks:
  int64_t unreadable_images = 0;  // unreadable images since the last message
  int64_t images = 0;             // images of this step, if it was committed
  double loss_sum = 0;      // their summed loss, in multiples of 2^-24 so that the sum is exact
  int64_t out_of_data = 0;  // ranks whose data does not suffice for another step

  bool operator==(const ControlMessage&) const = default;
};

class ControlChannel {
 public:
  explicit ControlChannel(const Group& group);  // Communicator::control
  ~ControlChannel();                            // does not wait for a message in flight
  ControlChannel(const ControlChannel&) = delete;
  ControlChannel& operator=(const ControlChannel&) = delete;

  // Starts the exchange of one message. Throws std::logic_error if the previous message was not
  // collected, std::invalid_argument for a stop signal other than 0, SIGINT or SIGTERM.
  void post(const ControlMessage& message);

  // Waits for the posted message of all ranks and returns the combined one; a default message if
  // nothing was posted. Throws std::runtime_error that names the rank and the operation if a peer
  // fails or the group's timeout passes.
  ControlMessage collect();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shoal::dist
