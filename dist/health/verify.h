#pragma once
// Checks that every rank holds the same bits.

#include <cstdint>
#include <string>
#include <vector>

#include "dist/group.h"

namespace shoal::dist {

// Returns a 64-bit hash of the tensors' values in order (as contiguous bytes, ignoring strides),
// with their sizes and dtypes. Equal on all machines of the same byte order. Distinguishes -0 from
// 0 and NaNs by their bits. Not cryptographic.
uint64_t hash(const std::vector<at::Tensor>& tensors);

// Compares the hash over the ranks. If it differs, throws std::runtime_error with the same text on
// every rank, naming `what` and the ranks that differ from rank 0. Collective. CUDA tensors are
// copied to the host.
void verify_equal(const Group& group, const std::vector<at::Tensor>& tensors,
                  const std::string& what);

}  // namespace shoal::dist
