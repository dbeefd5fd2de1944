#include "dist/gradients/gradient_ranges.h"

namespace shoal::dist {

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
