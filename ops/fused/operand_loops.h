#pragma once
// Loads operands and gradients into a tile: normalized, activated and gated.

#include "ops/fused/kernels.h"
#include "ops/fused/vectors.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

// A tile of the kernels' scratch memory. The vector of pixel i and of channels [v * kLanes, …) is
// at memory + i * pixel + v * vector.
struct Tile {
  float* memory;
  int64_t pixel, vector;
  float* at(int64_t i, int64_t v) const { return memory + i * pixel + v * vector; }
};

// Part of an activation: `count` pixels from row `row` on, and `vectors` vectors of channels from
// `channel` on.
struct Part {
  int64_t image, row, count, channel, vectors, stride;
};

// An activation as a type, and a call of work(Tag<activation>()).
template <Activation activation>
struct Tag {
  static constexpr Activation value = activation;
};

template <class Work>
inline void for_activation(Activation activation, const Work& work) {
  switch (activation) {
    case Activation::none:
      return work(Tag<Activation::none>());
    case Activation::relu:
      return work(Tag<Activation::relu>());
    case Activation::relu6:
      return work(Tag<Activation::relu6>());
    case Activation::silu:
      return work(Tag<Activation::silu>());
  }
}

// Writes the values of an operand: activated and, if `gated.memory`, also gated. `slopes.memory`:
// also writes the activation's derivatives.
inline void load_operand(const Operand& op, const Part& part, const Tile& values,
                         const Tile& gated, const Tile& slopes) {
  for_activation(op.activation, [&](auto tag) {
    const float* x = op.x + part.row * part.stride + part.channel;
    const float* gate = op.gate ? op.gate + part.image * part.stride + part.channel : nullptr;
    for (int64_t i = 0; i < part.count; ++i, x += part.stride) {
      for (int64_t v = 0; v < part.vectors; ++v) {
        Vec z = load(x + v * kLanes);
        const int64_t c = part.channel + v * kLanes;
        if (op.norm) z = multiply_add(z, load(op.norm->scale + c), load(op.norm->shift + c));
        Activated a{};
        if (slopes.memory) {
          a = activate_both<tag.value>(z);
          store(slopes.at(i, v), a.slope);
        } else {
          a.value = activate<tag.value>(z);
        }
        if (values.memory) store(values.at(i, v), a.value);
        if (gated.memory) store(gated.at(i, v), a.value * load(gate + v * kLanes));
      }
    }
  });
}

// Writes the gradient with respect to the raw output of a convolution.
template <bool has_u, bool spreads, class Act>
inline void load_gradient_rows(const Upstream& up, const Part& part, const Tile& to, Act) {
  const Norm& n = *up.norm;
  const float* x = up.x + part.row * part.stride + part.channel;
  const float* u = has_u ? up.u + part.row * part.stride + part.channel : nullptr;
  const int64_t of_image = part.image * part.stride + part.channel;
  const Vec mask = splat(up.mask ? up.mask[part.image] : 1);
  for (int64_t i = 0; i < part.count; ++i, x += part.stride) {
    for (int64_t v = 0; v < part.vectors; ++v) {
      const int64_t c = part.channel + v * kLanes;
      const Vec raw = load(x + v * kLanes);
      Vec dz = has_u ? load(u + v * kLanes) * mask : splat(0);
      if constexpr (spreads) {
        const Vec z = multiply_add(raw, load(n.scale + c), load(n.shift + c));
        if (has_u && up.gate) dz = dz * load(up.gate + of_image + v * kLanes);
        dz = multiply_add(load(up.spread + of_image + v * kLanes),
                          activate_both<Act::value>(z).slope, dz);
      }
      const Vec rest = multiply_add(load(n.pull + c), raw, load(n.offset + c));
      store(to.at(i, v), multiply_add(load(n.slope + c), dz, rest));
    }
    if (has_u) u += part.stride;
  }
}

inline void load_gradient(const Upstream& up, const Part& part, const Tile& to) {
  if (!up.spread) return load_gradient_rows<true, false>(up, part, to, Tag<Activation::none>());
  for_activation(up.activation, [&](auto tag) {
    up.u ? load_gradient_rows<true, true>(up, part, to, tag)
         : load_gradient_rows<false, true>(up, part, to, tag);
  });
}

// Sums of a batch norm over the rows of a tile: in float, then added to the thread's doubles.
struct FloatSums {
  float *first, *second;  // stride values each

  void clear(int64_t stride) const {
    __builtin_memset(first, 0, static_cast<size_t>(stride) * sizeof(float));
    __builtin_memset(second, 0, static_cast<size_t>(stride) * sizeof(float));
  }
  // Adds to `sums` and clears.
  void flush(int64_t stride, double* sums) const {
    for (int64_t c = 0; c < stride; ++c) sums[c] += first[c];
    for (int64_t c = 0; c < stride; ++c) sums[stride + c] += second[c];
    clear(stride);
  }
};

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
