#pragma once
// Divides the buffer of all gradients into ranges that are averaged one after another.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal::dist {

// The place of one gradient in the buffer, in bytes.
struct GradientPlace {
  int64_t begin = 0, end = 0;
};

// Returns the minimum size of a range in bytes. `total`: bytes of all gradients. NCCL uses larger
// ranges than Gloo, because each NCCL all-reduce costs tens of microseconds on the host and the
// GPU. A large model still has several ranges, so that most of the exchange overlaps with backward.
int64_t least_range_bytes(int64_t total, bool nccl);

// Returns the index of the first gradient of each range, from the last range to the first: backward
// completes the gradients in this order. Each range has at least `least` bytes, except the last one
// returned. `gradients` must be in the order of the buffer.
std::vector<size_t> range_starts(const std::vector<GradientPlace>& gradients, int64_t least);

// For averaging in bfloat16 (bf16_average.h). A rank sends the mean of a range only after it has
// sent its copies of the next kRangesAhead ranges. By then, the other ranks' copies of the range
// have usually arrived. The number is fixed, because all ranks must send in the same order.
inline constexpr size_t kRangesAhead = 2;

}  // namespace shoal::dist
