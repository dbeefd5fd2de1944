#pragma once
// Rank of a label among the classes of a row, for top-1 and top-5 accuracy. Compiles for CPU and
// GPU.

#include <cstdint>

#include "base/both.h"

namespace shoal::ops {

inline constexpr int64_t kTop5 = 5;  // ranks 0 to 4 count for top-5

// Returns 1 if class `c` with score `logit` ranks before `label` with score `own`, otherwise 0. The
// sum over all classes is the label's rank, from 0, in a stable descending sort by score: among
// equal scores, the lower class comes first, as in argmax. Returns kTop5 for a NaN logit, so a row
// with a NaN counts neither for top-1 nor for top-5.
template <class V>
SHOAL_BOTH int64_t places_before(V logit, int64_t c, V own, int64_t label) {
  if (logit != logit) return kTop5;
  return logit > own || (logit == own && c < label) ? 1 : 0;
}

}  // namespace shoal::ops
