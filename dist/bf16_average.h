#pragma once
// Averages numbers over the ranks of a group, and sends them as bfloat16: half the bytes of an
// all-reduce in float32. For gradient_reducer.cpp.
//
// Each rank owns one piece of the numbers. Every rank sends each owner its bfloat16 copy of the
// owner's piece. The owner adds the copies in float32, divides by the number of ranks, and sends
// the mean as bfloat16 to all ranks. So all ranks get the same bits, and each number is rounded to
// bfloat16 twice, however many ranks there are.
//
// The calls send_copies(), send_mean() and finish() follow one another, so that several averages
// can be under way while the caller computes. All ranks must make the same calls in the same order.
// Over Gloo, send_mean() and finish() wait for the other ranks; over NCCL, the current stream
// waits. All three throw the transport's exceptions. After one, do not use the object again.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace shoal::dist {

struct GroupState;

class Bf16Average {
 public:
  // `numbers`: 1-D, contiguous, of any floating-point dtype. `state` must outlive this object.
  Bf16Average(const GroupState& state, at::Tensor numbers);

  // Starts to send copies to the owners. `numbers` must have its final values.
  void send_copies();
  // Waits for the copies of this rank's piece, and starts to send their mean.
  void send_mean();
  // Waits for the means of all pieces and writes them to `numbers`.
  void finish();

 private:
  const GroupState& state_;
  at::Tensor numbers_;
  // Padded to ranks_ pieces of equal length.
  at::Tensor copies_;    // ranks × piece, bfloat16: this rank's numbers
  at::Tensor received_;  // ranks × piece, bfloat16: this rank's piece, from each rank
  at::Tensor mean_;      // piece, bfloat16
  c10::intrusive_ptr<c10d::Work> work_;
};

}  // namespace shoal::dist
