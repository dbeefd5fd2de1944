#pragma once
// The operations between convolutions: joins and pooling.

#include "ops/fused/pointwise_loops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

template <Activation activation>
void join_images(const Join& op, int64_t begin, int64_t end) {
  const int64_t stride = padded(op.channels), size = op.pixels * stride;
  for (int64_t image = begin; image < end; ++image) {
    const Vec mask = splat(op.mask ? op.mask[image] : 1);
    for (int64_t i = image * size; i < (image + 1) * size; i += stride) {
      for (int64_t c = 0; c < stride; c += kLanes) {
        const Vec x = load(cells(op.x) + i + c);
        const Vec z = multiply_add(x, load(op.norm->scale + c), load(op.norm->shift + c));
        Vec y = activate<activation>(z) * mask;
        if (op.skip) y += load(cells(op.skip) + i + c);
        if (op.rectified) y = activate<Activation::relu>(y);
        store(cells(op.y) + i + c, y);
      }
    }
  }
}

void join(const Join& op, int64_t begin, int64_t end, const Scratch&) {
  for_activation(op.activation, [&](auto tag) { join_images<tag.value>(op, begin, end); });
}

template <Activation activation>
void join_images_backward(const Join& op, int64_t begin, int64_t end, const Scratch& scratch) {
  const int64_t stride = padded(op.channels);
  const FloatSums sums{scratch.memory, scratch.memory + stride};
  sums.clear(stride);
  for (int64_t image = begin; image < end; ++image) {
    const Vec mask = splat(op.mask ? op.mask[image] : 1);
    for (int64_t row = 0; row < op.pixels; row += 8) {
      const int64_t at = (image * op.pixels + row) * stride, count = least(8, op.pixels - row);
      for (int64_t c = 0; c < stride; c += kLanes) {
        const Vec mean = load(op.norm->mean + c), scale = load(op.norm->scale + c);
        const Vec shift = load(op.norm->shift + c);
        Vec first = splat(0), second = splat(0);
        for (int64_t i = 0; i < count; ++i) {
          const Vec x = load(cells(op.x) + at + i * stride + c);
          Cell* const dy = cells(op.dy) + at + i * stride + c;
          Vec dz = load(dy);
          if (op.rectified) {
            dz = load(cells(op.y) + at + i * stride + c) > 0 ? dz : splat(0);
            store(dy, dz);
          }
          dz = dz * mask;
          if constexpr (activation != Activation::none)
            dz = dz * activate_both<activation>(multiply_add(x, scale, shift)).slope;
          first += dz;
          second = multiply_add(dz, x - mean, second);
        }
        add_to(sums.first + c, first);
        add_to(sums.second + c, second);
      }
    }
    sums.flush(stride, scratch.sums);
  }
}

void join_backward(const Join& op, int64_t begin, int64_t end, const Scratch& scratch) {
  for_activation(op.activation,
                 [&](auto tag) { join_images_backward<tag.value>(op, begin, end, scratch); });
}

void pool(const Pool& op, int64_t begin, int64_t end, const Scratch&) {
  const int64_t stride = padded(op.channels);
  for (int64_t image = begin; image < end; ++image)
    pool_image(op.input, image, op.pixels, stride, op.y + image * stride);
}

void pool_backward(const Pool& op, int64_t begin, int64_t end, const Scratch& scratch) {
  const int64_t stride = padded(op.channels);
  if (!op.input.norm) {
    for (int64_t row = begin * op.pixels; row < end * op.pixels; ++row)
      for (int64_t c = 0; c < stride; c += kLanes)
        store(cells(op.dx.u) + row * stride + c, load(op.spread + row / op.pixels * stride + c));
    return;
  }
  const Norm& norm = *op.input.norm;
  for_activation(op.input.activation, [&](auto tag) {
    for (int64_t image = begin; image < end; ++image) {
      for (int64_t c = 0; c < stride; c += kLanes) {
        const Cell* x = cells(op.input.x) + image * op.pixels * stride + c;
        Vec first = splat(0), second = splat(0);
        for (int64_t i = 0; i < op.pixels; ++i, x += stride) {
          const Vec raw = load(x),
                    z = multiply_add(raw, load(norm.scale + c), load(norm.shift + c));
          const Vec slope = activate_both<tag.value>(z).slope;
          first += slope;
          second = multiply_add(slope, raw - load(norm.mean + c), second);
        }
        const Vec spread = load(op.spread + image * stride + c);
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          scratch.sums[c + lane] += static_cast<double>(spread[lane]) * first[lane];
          scratch.sums[stride + c + lane] += static_cast<double>(spread[lane]) * second[lane];
        }
      }
    }
  });
}

// Calls visit(offset) for each pixel in the window of output (y, x). `offset`: in floats, from the
// start of a plane (for_planes()).
template <class Visit>
inline void for_window(const MaxPool& op, int64_t y, int64_t x, const Visit& visit) {
  const int64_t top = y * op.stride - op.top, left = x * op.stride - op.left;
  for (int64_t i = most(top, 0); i < least(top + op.kernel, op.height); ++i)
    for (int64_t j = most(left, 0); j < least(left + op.kernel, op.width); ++j)
      visit((i * op.width + j) * kLanes);
}

// Activates channels [c, c + kLanes) of one image and writes them to `to`, kLanes floats per pixel.
// `first`: the image's first pixel, numbered across all images.
template <Activation activation>
void activate_plane(const Operand& op, int64_t first, int64_t pixels, int64_t stride, int64_t c,
                    float* to) {
  const Vec scale = load(op.norm->scale + c), shift = load(op.norm->shift + c);
  const Cell* const x = cells(op.x) + first * stride + c;
  for (int64_t p = 0; p < pixels; ++p)
    store(to + p * kLanes, activate<activation>(multiply_add(load(x + p * stride), scale, shift)));
}

// Calls work(image, channel, plane) for each image and vector of channels. `plane`: the activated
// elements (see activate_plane()), followed by scratch memory of the same size.
template <class Work>
inline void for_planes(const MaxPool& op, int64_t begin, int64_t end, const Scratch& scratch,
                       const Work& work) {
  const int64_t stride = padded(op.channels), pixels = op.height * op.width;
  float* const plane = scratch.memory + 2 * stride;
  for (int64_t image = begin; image < end; ++image) {
    for (int64_t c = 0; c < stride; c += kLanes) {
      for_activation(op.input.activation, [&](auto tag) {
        activate_plane<tag.value>(op.input, image * pixels, pixels, stride, c, plane);
      });
      work(image, c, plane);
    }
  }
}

void max_pool(const MaxPool& op, int64_t begin, int64_t end, const Scratch& scratch) {
  const int64_t stride = padded(op.channels);
  for_planes(op, begin, end, scratch, [&](int64_t image, int64_t c, const float* plane) {
    Cell* to = cells(op.y) + image * op.out_height * op.out_width * stride + c;
    for (int64_t y = 0; y < op.out_height; ++y) {
      for (int64_t x = 0; x < op.out_width; ++x, to += stride) {
        Vec best = splat(-__builtin_inff());
        for_window(op, y, x, [&](int64_t at) {
          const Vec value = load(plane + at);
          best = best < value || value != value ? value : best;
        });
        store(to, best);
      }
    }
  });
}

void max_pool_backward(const MaxPool& op, int64_t begin, int64_t end, const Scratch& scratch) {
  const int64_t stride = padded(op.channels), pixels = op.height * op.width;
  const FloatSums sums{scratch.memory, scratch.memory + stride};
  sums.clear(stride);
  const Norm& norm = *op.input.norm;
  for_planes(op, begin, end, scratch, [&](int64_t image, int64_t c, float* plane) {
    float* const gradient = plane + pixels * kLanes;
    for (int64_t p = 0; p < pixels; ++p) store(gradient + p * kLanes, splat(0));
    const Cell* dy = cells(op.dy) + image * op.out_height * op.out_width * stride + c;
    for (int64_t y = 0; y < op.out_height; ++y) {
      for (int64_t x = 0; x < op.out_width; ++x, dy += stride) {
        Vec best = splat(-__builtin_inff());
        Ints place = {};
        for_window(op, y, x, [&](int64_t at) {
          const Vec value = load(plane + at);
          const Ints better = best < value || value != value;
          best = better ? value : best;
          place = better ? Ints{} + static_cast<int32_t>(at) : place;
        });
        const Vec d = load(dy);
        for (int64_t lane = 0; lane < kLanes; ++lane) gradient[place[lane] + lane] += d[lane];
      }
    }
    const Cell* const x = cells(op.input.x) + image * pixels * stride + c;
    Cell* const u = cells(op.dx.u) + image * pixels * stride + c;
    const Vec scale = load(norm.scale + c), shift = load(norm.shift + c),
              mean = load(norm.mean + c);
    Vec first = splat(0), second = splat(0);
    for_activation(op.input.activation, [&](auto tag) {
      for (int64_t p = 0; p < pixels; ++p) {
        const Vec raw = load(x + p * stride);
        const Vec slope = activate_both<tag.value>(multiply_add(raw, scale, shift)).slope;
        const Vec value = load(gradient + p * kLanes) * slope;
        store(u + p * stride, value);
        first += value;
        second = multiply_add(value, raw - mean, second);
      }
    });
    add_to(sums.first + c, first);
    add_to(sums.second + c, second);
    if (c + kLanes >= stride) sums.flush(stride, scratch.sums);
  });
}

void activate_floats(Activation activation, const float* z, int64_t count, float* values,
                     float* slopes) {
  for_activation(activation, [&](auto tag) {
    for (int64_t i = 0; i < count; i += kLanes) {
      const Activated a = activate_both<tag.value>(load(z + i));
      store(values + i, a.value);
      store(slopes + i, a.slope);
    }
  });
}

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
