#include "dist/gradients/gradient_ranges.h"

#include <algorithm>

namespace shoal::dist {

int64_t least_range_bytes(int64_t total, bool nccl) {
  constexpr int64_t kMegabyte = 1 << 20, kLeast = 3 * kMegabyte;
  constexpr int64_t kMost = 25 * kMegabyte;  // default of PyTorch's DistributedDataParallel
  constexpr int64_t kRanges = 4;
  return nccl ? std::clamp(total / kRanges, kLeast, kMost) : kLeast;
}

std::vector<size_t> range_starts(const std::vector<GradientPlace>& gradients, int64_t least) {
  std::vector<size_t> starts;
  for (size_t end = gradients.size(); end > 0; end = starts.back()) {
    size_t begin = end - 1;
    while (begin > 0 && gradients[end - 1].end - gradients[begin].begin < least) --begin;
    starts.push_back(begin);
  }
  return starts;
}

}  // namespace shoal::dist
