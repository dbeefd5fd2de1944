#pragma once
// Proof that every rank holds the same bits.

#include <cstdint>
#include <string>
#include <vector>

#include "dist/group.h"

namespace shoal::dist {

// A 64-bit hash of the values of the tensors in order (their bytes as contiguous tensors, not their
// strides), with sizes and types. Equal on every machine of the same byte order. -0 differs from 0,
// and NaNs by their bits. Not cryptographic.
uint64_t hash(const std::vector<at::Tensor>& tensors);

// Throws std::runtime_error on every rank, with the same text, when the hash differs between ranks:
// names `what` and the ranks that differ from rank 0. Collective. CUDA tensors are copied to the
// host.
void verify_equal(const Group& group, const std::vector<at::Tensor>& tensors,
                  const std::string& what);

}  // namespace shoal::dist
