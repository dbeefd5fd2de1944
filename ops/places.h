#pragma once
// Where a label stands among the classes of a row: what top-1 and top-5 count. Host and GPU.

#include <cstdint>

#include "ops/both.h"

namespace shoal::ops {

inline constexpr int64_t kTop5 = 5;  // ranks that top-5 counts

// Returns 1 if class `c` with score `logit` ranks before `label` with score `own`, else 0. The sum
// over all classes is the label's rank, from 0, in a stable descending sort by score: of equal
// scores the lower class comes first, as in argmax. A NaN counts kTop5 places, so a row that has
// one is in no top-k.
template <class V>
SHOAL_BOTH int64_t places_before(V logit, int64_t c, V own, int64_t label) {
  if (logit != logit) return kTop5;
  return logit > own || (logit == own && c < label) ? 1 : 0;
}

}  // namespace shoal::ops
