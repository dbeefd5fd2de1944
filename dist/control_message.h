#pragma once
// The control message, which all ranks exchange once per step. With it, all ranks stop and save
// checkpoints at the same step, and sum counts such as that of unreadable images.
//
//   loop, step s:   message = channel.collect();  // from all ranks, for step s-1
//                   ...  // act on message: the same decision on every rank
//                   channel.post(mine);           // from this rank, for step s
//
// post() starts one small asynchronous all-reduce on the control group, which uses Gloo even in
// NCCL runs. collect() waits for the all-reduce one step later, when it has usually finished. A
// group of one behaves the same, including the delay.

#include <cstdint>
#include <memory>

#include "dist/group.h"

namespace shoal::dist {

struct ControlMessage {
  // Posted: 0, SIGINT or SIGTERM. Collected: SIGTERM if any rank posted it, else SIGINT if any did.
  int stop_signal = 0;
  // Any rank may request a checkpoint after SIGUSR1. For --checkpoint-minutes, only rank 0 does, by
  // its clock. Checkpoints of --checkpoint-steps need no message.
  bool checkpoint_requested = false;
  // Summed over the ranks:
  int64_t unreadable_images = 0;  // unreadable images since the last message
  int64_t trained_ms = 0;         // milliseconds that the run has trained for; only rank 0 posts it
  int64_t out_of_data = 0;        // posted: 1 if this rank has too little data for another step

  bool operator==(const ControlMessage&) const = default;
};

class ControlChannel {
 public:
  explicit ControlChannel(const Group& group);  // `group`: Communicator::control
  ~ControlChannel();                            // does not wait for a posted message
  ControlChannel(const ControlChannel&) = delete;
  ControlChannel& operator=(const ControlChannel&) = delete;

  // Starts the exchange of one message. Throws std::logic_error if the previous message was not
  // collected, std::invalid_argument for a stop signal other than 0, SIGINT or SIGTERM.
  void post(const ControlMessage& message);

  // Waits until the posted messages of all ranks have arrived and returns them combined. Returns a
  // default message if nothing was posted. Throws std::runtime_error that names the rank and the
  // operation if a peer fails or the group's timeout passes.
  ControlMessage collect();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shoal::dist
