// Normalizes uint8 images with a lookup table of 256 values per channel. Mixing is linear, so a
// mixed pixel is lambda * table[own] + (1 - lambda) * table[partner]. Each thread computes some of
// the pixel rows of all images.

#include <algorithm>

#include "ops/cpu/kernels.h"
#include "ops/erase.h"
#include "ops/reference/types.h"

namespace shoal::ops::cpu_kernels {
namespace {

// C: number of channels.
template <int C, class V>
struct Tables {
  V value[C][256];
  explicit Tables(const PrepareBatch& op) {
    for (int channel = 0; channel < C; ++channel) {
      for (int v = 0; v < 256; ++v) {
        value[channel][v] =
            (V(v) / 255 - static_cast<V>(op.mean[channel])) / static_cast<V>(op.std[channel]);
      }
    }
  }
};

// Writes pixels [begin, end) of a pixel row: lambda * own + (1 - lambda) * partner, normalized.
template <int C, class S, class V>
void fill(const Tables<C, V>& tables, const uint8_t* own, const uint8_t* partner, V lambda,
          int64_t begin, int64_t end, S* out) {
  using E = Element<S>;
  const V rest = 1 - lambda;
  for (int64_t i = C * begin; i < C * end; i += C) {
    for (int channel = 0; channel < C; ++channel) {
      const V* table = tables.value[channel];
      const V value = rest == 0
                          ? table[own[i + channel]]
                          : lambda * table[own[i + channel]] + rest * table[partner[i + channel]];
      out[i + channel] = E::store(value);
    }
  }
}

// Erases pixel row y of mix.erase[rectangle], if the rectangle includes that row.
template <int C, class S, class V>
void erase(const MixRow& mix, int rectangle, int64_t y, int64_t width, S* out) {
  const int32_t* const box = mix.erase[rectangle];
  if (y < box[1] || y >= box[3]) return;
  const int64_t from = std::clamp<int64_t>(box[0], 0, width);
  const int64_t to = std::clamp<int64_t>(box[2], from, width);
  if (mix.erase_fill == EraseFill::constant) {
    std::fill(out + C * from, out + C * to, Element<S>::store(0));
    return;
  }
  for (int64_t x = from; x < to; ++x)
    for (int channel = 0; channel < C; ++channel)
      out[C * x + channel] = Element<S>::store(
          static_cast<V>(erased_value(mix, rectangle, 3 * (y * width + x) + channel)));
}

// Writes pixel row y (0 is the top) of image n of the batch.
template <int C, class S, class V>
void row(const PrepareBatch& op, const Tables<C, V>& tables, int64_t n, int64_t y) {
  MixRow mix;
  mix.partner = static_cast<int32_t>(n * op.each);
  if (op.mix) mix = op.mix[n];
  const int64_t width = op.width, image = op.height * width * C;
  const uint8_t* own = op.images + n * op.each * image + y * width * C;
  const uint8_t* partner = op.images + mix.partner * image + y * width * C;
  S* out = static_cast<S*>(op.out) + n * image + y * width * C;
  const V lambda = static_cast<V>(mix.lambda);

  int64_t left = 0, right = 0;  // columns of the CutMix box in this row
  if (y >= mix.box[1] && y < mix.box[3]) {
    left = std::clamp<int64_t>(mix.box[0], 0, width);
    right = std::clamp<int64_t>(mix.box[2], left, width);
  }
  fill(tables, own, partner, lambda, 0, left, out);
  fill(tables, own, partner, V(0), left, right, out);
  fill(tables, own, partner, lambda, right, width, out);
  for (int k = 0; k < mix.erased; ++k) erase<C, S, V>(mix, k, y, width, out);
}

template <int C>
void prepare(const PrepareBatch& op) {
  dispatch(op.type, [&]<class S>(S) {
    const Tables<C, typename Element<S>::Value> tables(op);
    const int64_t rows = op.n * op.height;
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; ++r) row<C, S>(op, tables, r / op.height, r % op.height);
  });
}

}  // namespace

void prepare_batch(const PrepareBatch& op, void*) {
  op.channels == 1 ? prepare<1>(op) : prepare<3>(op);
}

}  // namespace shoal::ops::cpu_kernels
