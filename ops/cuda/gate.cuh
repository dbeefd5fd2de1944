#pragma once
// The gate of squeeze-excite. Distributes the channels and pixels of each image over threads, as
// batch_norm.cuh does with channels and rows.

#include "ops/cuda/column_sums.cuh"
#include "ops/cuda/elements.cuh"

namespace shoal::ops::cuda_kernels {

// The terms that column_sums() adds up: x, or x * dy if dy is not nullptr.
template <class S, int kWidth>
struct Products {
  using Few = FewRows<S>;
  struct Packs {
    Pack<S, kWidth> x, dy;
  };
  static constexpr int kRows = 4;
  struct Lane {
    SHOAL_BOTH Packs load(int64_t row) const {
      Packs packs = {};
      packs.x = load_pack<S, kWidth>(x, row * groups + group);
      if (dy) packs.dy = load_pack<S, kWidth>(dy, row * groups + group);
      return packs;
    }
    SHOAL_BOTH void add(const Packs& packs, Few (*sums)[kWidth]) const {
      Value<S> v[kWidth], gradient[kWidth];
      convert(packs.x, v);
      convert(packs.dy, gradient);
      for (int j = 0; j < kWidth; ++j)
        sums[0][j] += static_cast<Few>(dy ? v[j] * gradient[j] : v[j]);
    }
    const void *x, *dy;
    int64_t groups, group;
  };
  SHOAL_BOTH Lane lane(int64_t group) const { return {x, dy, groups, group}; }
  const void *x, *dy;
  int64_t groups;
};

// Sets out[image, channel] = factor * Σ over the image's pixels of x, or of x * dy if dy is not
// nullptr.
template <class S, int kWidth>
void image_sums(const Gate& op, const void* dy, double factor, void* out, void* stream) {
  const int64_t channels = op.channels;
  column_sums<1, kWidth>(op.images, op.pixels, channels, stream,
                         Products<S, kWidth>{op.x, dy, channels / kWidth},
                         [=] SHOAL_BOTH(int64_t image, int64_t channel, const double* sum) {
                           static_cast<Value<S>*>(out)[image * channels + channel] =
                               static_cast<Value<S>>(*sum * factor);
                         });
}

// Sets out = in * op.gate + shift / pixels. op.gate and `shift` are images×channels; nullptr as
// `shift` means 0.
template <class S, int kWidth>
void scale_images(const Gate& op, const void* in, const void* shift, void* out, void* stream) {
  using V = Value<S>;
  const int64_t groups = op.channels / kWidth;
  const int64_t lanes = lanes_for(op.images * groups, op.pixels, kManyThreads);
  for_each_index(op.images * lanes * groups, stream, [=] SHOAL_BOTH(int64_t i) {
    const int64_t group = i % groups, lane = i / groups % lanes, image = i / groups / lanes;
    V factors[kWidth], shifts[kWidth];
    for (int j = 0; j < kWidth; ++j) {
      const int64_t at = image * op.channels + group * kWidth + j;
      factors[j] = static_cast<const V*>(op.gate)[at];
      shifts[j] = shift ? static_cast<const V*>(shift)[at] / static_cast<V>(op.pixels) : V(0);
    }
    for (int64_t pixel = lane; pixel < op.pixels; pixel += lanes) {
      const int64_t at = (image * op.pixels + pixel) * groups + group;
      V values[kWidth];
      load_group<S, kWidth>(in, at, values);
      for (int j = 0; j < kWidth; ++j) values[j] = values[j] * factors[j] + shifts[j];
      store_group<S, kWidth>(out, at, values);
    }
  });
}

inline void pool(const Gate& op, void* pooled, void* stream) {
  with_group_type(op.type, op.channels, {op.x}, [&](auto s, auto width) {
    image_sums<decltype(s), decltype(width)::value>(op, nullptr, 1 / static_cast<double>(op.pixels),
                                                    pooled, stream);
  });
}

inline void gate_apply(const Gate& op, void* y, void* stream) {
  with_group_type(op.type, op.channels, {op.x, y}, [&](auto s, auto width) {
    scale_images<decltype(s), decltype(width)::value>(op, op.x, nullptr, y, stream);
  });
}

inline void gate_backward_sums(const Gate& op, const void* dy, void* d_gate, void* stream) {
  with_group_type(op.type, op.channels, {op.x, dy}, [&](auto s, auto width) {
    image_sums<decltype(s), decltype(width)::value>(op, dy, 1, d_gate, stream);
  });
}

inline void gate_backward_apply(const Gate& op, const void* dy, const void* d_pooled, void* dx,
                                void* stream) {
  with_group_type(op.type, op.channels, {dy, dx}, [&](auto s, auto width) {
    scale_images<decltype(s), decltype(width)::value>(op, dy, d_pooled, dx, stream);
  });
}

}  // namespace shoal::ops::cuda_kernels
