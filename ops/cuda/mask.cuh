#pragma once
// Random masks: one thread per value.

#include "ops/cuda/elements.cuh"
#include "ops/cuda/indexed.cuh"
#include "ops/masks.h"

namespace shoal::ops::cuda_kernels {

template <class S>
void typed_mask(const Mask& op, void* out, void* stream) {
  const uint64_t seed = mask_seed(op);
  const S zero = Element<S>::store(0);
  const S kept = Element<S>::store(static_cast<Value<S>>(kept_value(op.drop)));
  for_each_index(op.rows * op.width, stream, [=] SHOAL_BOTH(int64_t i) {
    const int64_t row = i / op.width;
    const bool dropped = is_dropped(seed, op.keys[row], i - row * op.width, op.drop);
    static_cast<S*>(out)[i] = dropped ? zero : kept;
  });
}

inline void mask(const Mask& op, void* out, void* stream) {
  with_type(op.type, [&](auto s) { typed_mask<decltype(s)>(op, out, stream); });
}

}  // namespace shoal::ops::cuda_kernels
