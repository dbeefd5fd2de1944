#include "dist/health/verify.h"

#include <ATen/core/Tensor.h>

#include <stdexcept>

#include "base/hash.h"
#include "dist/gather.h"

namespace shoal::dist {

uint64_t hash(const std::vector<at::Tensor>& tensors) {
  uint64_t result = tensors.size();
  for (const at::Tensor& tensor : tensors) {
    result = combine(result, static_cast<uint64_t>(tensor.scalar_type()));
    for (int64_t size : tensor.sizes()) result = combine(result, static_cast<uint64_t>(size));
    const at::Tensor values = tensor.detach().cpu().contiguous();
    result =
        combine(result, hash_bytes(values.const_data_ptr(), static_cast<int64_t>(values.nbytes())));
  }
  return result;
}

void verify_equal(const Group& group, const std::vector<at::Tensor>& tensors,
                  const std::string& what) {
  if (group.size() == 1) return;
  const auto all = gather_number(group, static_cast<int64_t>(hash(tensors)));
  std::string differing;
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0]) differing += (differing.empty() ? "" : ", ") + std::to_string(rank);
  if (!differing.empty())
    throw std::runtime_error(
        what + " must be the same on every rank, but differs from rank 0 on rank " + differing);
}

}  // namespace shoal::dist
