#include "ops/masks.h"
#include "ops/reference/kernels.h"
#include "ops/reference/types.h"

namespace shoal::ops::reference_kernels {

void mask(const Mask& op, void* out, void*) {
  const uint64_t seed = mask_seed(op);
  const double kept = kept_value(op.drop);
  dispatch(op.type, [&]<class S>(S) {
    using E = Element<S>;
    S* to = static_cast<S*>(out);
    const S zero = E::store(0), one = E::store(static_cast<typename E::Value>(kept));
    for (int64_t row = 0; row < op.rows; ++row)
      for (int64_t i = 0; i < op.width; ++i)
        *to++ = is_dropped(seed, op.keys[row], i, op.drop) ? zero : one;
  });
}

}  // namespace shoal::ops::reference_kernels
