#pragma once
// Metrics of a row: the label's rank among the classes (for top-1 and top-5 accuracy), and the
// row's loss, rounded so that sums are exact. Compiles for CPU and GPU.

#include <cmath>
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

// Rounds a loss to a multiple of 2^-24. Sums of such numbers in double precision are exact up to
// 2^29. So a total does not depend on how images are divided into batches and ranks.
SHOAL_BOTH inline double on_grid(double loss) {
  constexpr double kGrid = 1 << 24;
  return ::rint(loss * kGrid) / kGrid;
}

}  // namespace shoal::ops
