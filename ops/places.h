#pragma once
// Where a label stands among the classes of a row: what top-1 and top-5 count. Host and GPU.

#include <cstdint>

#include "ops/both.h"

namespace shoal::ops {

// Places that class `c` with score `logit` takes from `label`, whose own score is `own`. Their sum
// over all classes is the label's place, from 0, in a stable descending sort by score: of equal
// scores the lower class comes first, as argmax has it. A NaN anywhere in the row puts the label
// behind every place that is counted.
template <class V>
SHOAL_BOTH int64_t places_before(V logit, int64_t c, V own, int64_t label) {
  constexpr int64_t kBehindAllCounted = 5;
  if (logit != logit) return kBehindAllCounted;
  return logit > own || (logit == own && c < label) ? 1 : 0;
}

}  // namespace shoal::ops
