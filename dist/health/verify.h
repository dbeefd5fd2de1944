#pragma once
// Checks that every rank holds the same bits.

#include <cstdint>
#include <string>
#include <vector>

#include "dist/group.h"

namespace shoal::dist {

// Returns a 64-bit hash of the tensors' elements, sizes and dtypes, but not of their strides. The
// hash is the same on all machines of the same byte order. It covers bits, so -0 differs from 0,
// and NaNs with different bits differ. Not cryptographic.
uint64_t hash(const std::vector<at::Tensor>& tensors);

// Compares the hash of the tensors across ranks. If the hashes differ, throws std::runtime_error
// with the same text on every rank, which names `what` and the ranks that differ from rank 0.
// Collective. Copies CUDA tensors to the host.
void verify_equal(const Group& group, const std::vector<at::Tensor>& tensors,
                  const std::string& what);

}  // namespace shoal::dist
