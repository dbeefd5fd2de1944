#pragma once
// The first convolution, which reads the images. A work item is one output row.

#include "ops/fused/pointwise_loops.h"

namespace shoal::ops::fused::SHOAL_LOOPS {
namespace {

// im2col for output row `y` of an image: copies the input elements of each output to `to`, ordered
// by kernel row, kernel column and channel. Outputs are `stride` floats apart.
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
      if (exists && inside && x + left * op.in + padded(run) <= all) {
        for (int64_t c = 0; c < run; c += kLanes) store(part + c, load(x + left * op.in + c));
        continue;  // whole vectors were copied; the next kernel row overwrites the excess
      }
      for (int64_t j = 0; j < op.kernel; ++j) {
        const bool valid = exists && left + j >= 0 && left + j < op.width;
        for (int64_t c = 0; c < op.in; ++c)
          part[j * op.in + c] = valid ? number(x[(left + j) * op.in + c]) : 0;
      }
    }
  }
}

// Returns the number of floats from one output to the next in gather_row(). Includes space for the
// excess elements that gather_row() writes because it copies whole vectors.
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

// Shape of scratch.d_weights: padded(kernel²·in)×padded(out).
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

}  // namespace
}  // namespace shoal::ops::fused::SHOAL_LOOPS
