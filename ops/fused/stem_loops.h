#pragma once
// The dense convolution of the images, row by row, and the kernels between convolutions.

#include "ops/fused/pointwise_loops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

// Copies the values that each output of row `y` of an image multiplies: `depth` values per output,
// ordered by kernel row, kernel column and channel.
void gather_row(const Stem& op, int64_t image, int64_t y, float* to, int64_t stride) {
  const int64_t run = op.kernel * op.in, row_size = op.width * op.in;
  const Cell* const all = cells(op.x) + op.images * op.height * row_size;
  for (int64_t o = 0; o < op.out_width; ++o, to += stride) {
    const int64_t left = o * op.stride - op.left;
    const bool inside = left >= 0 && left + op.kernel <= op.width;
    for (int64_t i = 0; i < op.kernel; ++i) {
      const int64_t from = y * op.stride - op.top + i;
      float* const part = to + i * run;
      const bool exists = from >= 0 && from < op.height;
      const Cell* x = cells(op.x) + (image * op.height + (exists ? from : 0)) * row_size;
      if (exists && inside && run <= 16 && x + left * op.in + 16 <= all) {
        for (int64_t c = 0; c < 16; c += kLanes) store(part + c, load(x + left * op.in + c));
        continue;  // the next row overwrites what is too much
      }
      for (int64_t j = 0; j < op.kernel; ++j) {
        const bool valid = exists && left + j >= 0 && left + j < op.width;
        for (int64_t c = 0; c < op.in; ++c)
          part[j * op.in + c] = valid ? number(x[(left + j) * op.in + c]) : 0;
      }
    }
  }
}

// Length of one output's values in the tile, with room for what gather_row copies too much.
inline int64_t gathered_stride(const Stem& op) {
  return padded(op.kernel * op.kernel * op.in + 16);
}

void stem(const Stem& op, int64_t begin, int64_t end, const Scratch& scratch) {
  const int64_t out = padded(op.out), stride = gathered_stride(op), count = panels(out);
  const FloatSums sums{scratch.memory, scratch.memory + out};
  sums.clear(out);
  float* const tile = scratch.memory + 2 * out;
  for (int64_t item = begin; item < end; ++item) {
    gather_row(op, item / op.out_height, item % op.out_height, tile, stride);
    StoreSums epilogue{cells(op.y) + item * op.out_width * out, out, sums, op.streams};
    multiply<Floats>(tile, stride, op.out_width, op.weights, 0, count, epilogue);
    sums.flush(out, scratch.sums);
  }
  finish_streams();
}

// d_weights is padded(kernel²·in)×padded(out).
void stem_backward(const Stem& op, int64_t begin, int64_t end, const Scratch& scratch) {
  const int64_t out = padded(op.out), stride = gathered_stride(op);
  float *const tile = scratch.memory, *const dy = tile + op.out_width * stride;
  for (int64_t item = begin; item < end; ++item) {
    const int64_t image = item / op.out_height;
    gather_row(op, image, item % op.out_height, tile, stride);
    load_gradient(op.dy, {image, item * op.out_width, op.out_width, 0, out / kLanes, out},
                  Tile<float>{dy, out, kLanes});
    multiply_transposed<Floats>(op.out_width, tile, stride, op.kernel * op.kernel * op.in, dy, out,
                                out, scratch.d_weights, out);
  }
}

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
          Vec dz = load(cells(op.dy) + at + i * stride + c) * mask;
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
