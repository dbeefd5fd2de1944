#pragma once
// Converts uint8 images to a normalized batch, with mixing and erasing. One thread per pixel.

#include "ops/cuda/elements.cuh"
#include "ops/cuda/indexed.cuh"
#include "ops/erase.h"

namespace shoal::ops::cuda_kernels {

SHOAL_BOTH inline bool inside(const int32_t box[4], int64_t x, int64_t y) {
  return x >= box[0] && y >= box[1] && x < box[2] && y < box[3];
}

template <class S>
void typed_prepare_batch(const PrepareBatch& op, void* stream) {
  using V = Value<S>;
  const int64_t pixels = op.height * op.width, channels = op.channels;
  for_each_index(op.n * pixels, stream, [=] SHOAL_BOTH(int64_t at) {
    const int64_t row = at / pixels, pixel = at % pixels;
    const int64_t x = pixel % op.width, y = pixel / op.width;
    const MixRow* const mix = op.mix ? op.mix + row : nullptr;
    const uint8_t* own = op.images + channels * (row * op.each * pixels + pixel);
    const uint8_t* partner = own;
    V lambda = 1;
    int erased = -1;  // index of the rectangle that erases this pixel
    if (mix) {
      partner = op.images + channels * (static_cast<int64_t>(mix->partner) * pixels + pixel);
      lambda = inside(mix->box, x, y) ? V(0) : static_cast<V>(mix->lambda);
      erased = mix->erased - 1;
      while (erased >= 0 && !inside(mix->erase[erased], x, y)) --erased;
    }
    S* out = static_cast<S*>(op.out) + channels * at;
    // The constant limit lets nvcc unroll the loop. Otherwise, each thread would copy `op` to its
    // stack to index op.mean and op.std.
    for (int c = 0; c < 3 && c < channels; ++c) {
      const V mixed = lambda * own[c] + (1 - lambda) * partner[c];
      V value = (mixed / 255 - static_cast<V>(op.mean[c])) / static_cast<V>(op.std[c]);
      if (erased >= 0) value = static_cast<V>(erased_value(*mix, erased, 3 * pixel + c));
      out[c] = Element<S>::store(value);
    }
  });
}

inline void prepare_batch(const PrepareBatch& op, void* stream) {
  with_type(op.type, [&](auto s) { typed_prepare_batch<decltype(s)>(op, stream); });
}

}  // namespace shoal::ops::cuda_kernels
