#include "ops/erase.h"
#include "ops/reference/kernels.h"
#include "ops/reference/types.h"

namespace shoal::ops::reference_kernels {
namespace {

bool inside(const int32_t box[4], int64_t x, int64_t y) {
  return x >= box[0] && y >= box[1] && x < box[2] && y < box[3];
}

}  // namespace

void prepare_batch(const PrepareBatch& op, void*) {
  const int64_t image = op.height * op.width * op.channels;
  dispatch(op.type, [&]<class S>(S) {
    using V = typename Element<S>::Value;
    S* out = static_cast<S*>(op.out);
    for (int64_t n = 0; n < op.n; ++n) {
      MixRow mix;
      mix.partner = static_cast<int32_t>(n * op.each);
      if (op.mix) mix = op.mix[n];
      const uint8_t* own = op.images + n * op.each * image;
      const uint8_t* partner = op.images + mix.partner * image;
      for (int64_t y = 0, i = 0; y < op.height; ++y) {
        for (int64_t x = 0; x < op.width; ++x) {
          const V lambda = inside(mix.box, x, y) ? V(0) : static_cast<V>(mix.lambda);
          int erased = mix.erased - 1;
          while (erased >= 0 && !inside(mix.erase[erased], x, y)) --erased;
          for (int64_t channel = 0; channel < op.channels; ++channel, ++i) {
            const V mixed = lambda * own[i] + (1 - lambda) * partner[i];
            V value =
                (mixed / 255 - static_cast<V>(op.mean[channel])) / static_cast<V>(op.std[channel]);
            if (erased >= 0)
              value = static_cast<V>(erased_value(mix, erased, 3 * (y * op.width + x) + channel));
            out[n * image + i] = Element<S>::store(value);
          }
        }
      }
    }
  });
}

}  // namespace shoal::ops::reference_kernels
