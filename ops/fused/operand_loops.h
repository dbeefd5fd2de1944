#pragma once
// Loads operands (normalized, activated and gated) and gradients into tiles of scratch memory.

#include "ops/fused/kernels.h"
#include "ops/fused/register_vectors.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

// A tile in scratch memory. Channels [v * kLanes, (v + 1) * kLanes) of pixel i are at memory + i *
// pixel + v * vector: `pixel` and `vector` are strides in elements. T: float or TileCell.
template <class T>
struct Tile {
  T* memory;
  int64_t pixel, vector;
  T* at(int64_t i, int64_t v) const { return memory + i * pixel + v * vector; }
};

// Number of pixels to prefetch ahead. The hardware does not prefetch if the loops read only a part
// of each row.
constexpr int64_t kAhead = 32;

// Part of an activation: pixels [row, row + count), numbered across all images, and `vectors`
// vectors of channels from `channel` on. `image` selects gate, mask and spread. `stride`: padded
// channels of the activation.
struct Part {
  int64_t image, row, count, channel, vectors, stride;
};

// An activation function as a type. for_activation() calls work(Tag<activation>()), so `work` can
// use it as a template argument.
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
    case Activation::hard_swish:
      return work(Tag<Activation::hard_swish>());
  }
}

// The tiles that load_operand() writes. Tiles whose memory is nullptr are not wanted.
template <class T>
struct OperandTiles {
  Tile<T> values{}, gated{};
  Tile<float> slopes{};
};

template <Activation activation, bool keeps, bool gates, bool differentiates, class T>
void load_operand_rows(const Operand& op, const Part& part, const OperandTiles<T>& to) {
  const Cell* x = cells(op.x) + part.row * part.stride + part.channel;
  const float* gate = gates ? op.gate + part.image * part.stride + part.channel : nullptr;
  const float *scale = op.norm->scale + part.channel, *shift = op.norm->shift + part.channel;
  for (int64_t i = 0; i < part.count; ++i, x += part.stride) {
    for (int64_t v = 0; v < part.vectors; ++v) {
      const int64_t c = v * kLanes;
      __builtin_prefetch(x + kAhead * part.stride + c);
      const Vec z = multiply_add(load(x + c), load(scale + c), load(shift + c));
      Activated a{};
      if constexpr (differentiates) {
        a = activate_both<activation>(z);
        store(to.slopes.at(i, v), a.slope);
      } else {
        a.value = activate<activation>(z);
      }
      if constexpr (keeps) store(to.values.at(i, v), a.value);
      if constexpr (gates) store(to.gated.at(i, v), a.value * load(gate + c));
    }
  }
}

// Loads an operand without batch norm.
template <class T>
inline void copy_operand(const Operand& op, const Part& part, const Tile<T>& to) {
  const Cell* x = cells(op.x) + part.row * part.stride + part.channel;
  for (int64_t i = 0; i < part.count; ++i, x += part.stride)
    for (int64_t v = 0; v < part.vectors; ++v) store(to.at(i, v), load(x + v * kLanes));
}

// Writes the wanted tiles of an operand: the activated elements (values), their products with the
// gate (gated), and the derivatives of the activation (slopes). If the operand has no batch
// norm, only copies its elements into to.values.
template <class T>
inline void load_operand(const Operand& op, const Part& part, const OperandTiles<T>& to) {
  if (!op.norm) return copy_operand(op, part, to.values);
  for_activation(op.activation, [&](auto tag) {
    constexpr Activation kind = tag.value;
    const bool keeps = to.values.memory != nullptr, slopes = to.slopes.memory != nullptr;
    if (!to.gated.memory)
      return slopes ? load_operand_rows<kind, true, false, true>(op, part, to)
                    : load_operand_rows<kind, true, false, false>(op, part, to);
    if (slopes) return load_operand_rows<kind, true, true, true>(op, part, to);
    keeps ? load_operand_rows<kind, true, true, false>(op, part, to)
          : load_operand_rows<kind, false, true, false>(op, part, to);
  });
}

// Selects the formula by which load_gradient_rows() computes dz. See Upstream for the names.
//   nothing: dz = u * mask
//   slope:   dz = u * mask * activation'(z)
//   spread:  dz = u * mask * gate + spread * activation'(z)
enum class Adds { nothing, slope, spread };

template <bool has_u, Adds adds, class T, class Act>
inline void load_gradient_rows(const Upstream& up, const Part& part, const Tile<T>& to, Act) {
  const Norm& n = *up.norm;
  const Cell* x = cells(up.x) + part.row * part.stride + part.channel;
  const Cell* u = has_u ? cells(up.u) + part.row * part.stride + part.channel : nullptr;
  const int64_t of_image = part.image * part.stride + part.channel;
  const Vec mask = splat(up.mask ? up.mask[part.image] : 1);
  for (int64_t i = 0; i < part.count; ++i, x += part.stride) {
    for (int64_t v = 0; v < part.vectors; ++v) {
      const int64_t c = part.channel + v * kLanes;
      __builtin_prefetch(x + kAhead * part.stride + v * kLanes);
      if (has_u) __builtin_prefetch(u + kAhead * part.stride + v * kLanes);
      const Vec raw = load(x + v * kLanes);
      Vec dz = has_u ? load(u + v * kLanes) * mask : splat(0);
      if constexpr (adds != Adds::nothing) {
        const Vec z = multiply_add(raw, load(n.scale + c), load(n.shift + c));
        const Vec slope = activate_both<Act::value>(z).slope;
        if constexpr (adds == Adds::slope) {
          dz = dz * slope;
        } else {
          if (has_u && up.gate) dz = dz * load(up.gate + of_image + v * kLanes);
          dz = multiply_add(load(up.spread + of_image + v * kLanes), slope, dz);
        }
      }
      const Vec rest = multiply_add(load(n.pull + c), raw, load(n.offset + c));
      store(to.at(i, v), multiply_add(load(n.slope + c), dz, rest));
    }
    if (has_u) u += part.stride;
  }
}

// Writes the gradient with respect to up.x, the raw output of a convolution.
template <class T>
inline void load_gradient(const Upstream& up, const Part& part, const Tile<T>& to) {
  if (!up.spread && !up.joined)
    return load_gradient_rows<true, Adds::nothing>(up, part, to, Tag<Activation::none>());
  for_activation(up.activation, [&](auto tag) {
    if (up.joined) return load_gradient_rows<true, Adds::slope>(up, part, to, tag);
    up.u ? load_gradient_rows<true, Adds::spread>(up, part, to, tag)
         : load_gradient_rows<false, Adds::spread>(up, part, to, tag);
  });
}

// A batch norm's two sums per channel, in float, over a few rows. Forward: of x and of x².
// Backward: of u and of u·(x - mean), where u is the gradient of the activation's input. flush()
// adds the sums to the thread's double sums.
struct FloatSums {
  float *first, *second;  // padded(channels) values each

  void clear(int64_t stride) const {
    __builtin_memset(first, 0, static_cast<size_t>(stride) * sizeof(float));
    __builtin_memset(second, 0, static_cast<size_t>(stride) * sizeof(float));
  }
  // Adds `first` and `second` to `sums`. Sets `first` and `second` to 0.
  void flush(int64_t stride, double* sums) const {
    for (int64_t c = 0; c < stride; ++c) sums[c] += first[c];
    for (int64_t c = 0; c < stride; ++c) sums[stride + c] += second[c];
    clear(stride);
  }
};

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
