#pragma once
// Averages a tensor over the ranks of a group. Sends bfloat16, which halves the traffic of a
// float32 all-reduce. Used by gradient_reducer.cpp.
//
// The tensor is divided into one piece per rank. Each rank receives the bfloat16 copies of its
// piece from all ranks (all-to-all), adds them in float32, and divides by the world size. It then
// sends the mean as bfloat16 to all ranks (all-gather). So all ranks get the same bits, and each
// number is rounded to bfloat16 twice at any world size.
//
// An average takes three calls in this order: send_copies(), send_mean(), finish(). Between them,
// the caller can compute or start other averages. All ranks must make the same calls in the same
// order.
// Over Gloo, send_mean() and finish() block until the other ranks have sent. Over NCCL, all work
// runs on a separate stream, so that backward continues on the current stream. finish() then makes
// the current stream wait for the result. All three throw the transport's exceptions. After an
// exception, do not use the object.

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <optional>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace shoal::dist {

struct GroupState;

class Bf16Average {
 public:
  // `numbers`: 1-D, contiguous, of any floating-point dtype. `stream`: where all work runs;
  // nullopt: on the current stream. `state` must outlive this object.
  Bf16Average(const GroupState& state, at::Tensor numbers, std::optional<c10::Stream> stream);

  // Starts to send the copies to all ranks. `numbers` must have its final values.
  void send_copies();
  // Waits for the copies of this rank's piece, and starts to send their mean.
  void send_mean();
  // Waits for the means of all pieces and writes them to `numbers`.
  void finish();

 private:
  const GroupState& state_;
  at::Tensor numbers_;
  std::optional<c10::Stream> stream_;
  // ranks × piece, bfloat16. Before send_mean(): this rank's numbers, padded so that all pieces
  // have the same length. Afterwards: receives the mean of every piece.
  at::Tensor copies_;
  at::Tensor unpadded_copies_;  // view of copies_, as long as numbers_
  at::Tensor received_;         // ranks × piece, bfloat16: this rank's piece, from each rank
  at::Tensor mean_;             // piece, bfloat16
  c10::intrusive_ptr<c10d::Work> work_;
};

}  // namespace shoal::dist
