#include "models/masks.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <stdexcept>

#include "base/hash.h"
#include "models/functions.h"

namespace shoal::models {
namespace {

constexpr double kMaxDropped = 0.999;

uint64_t chain(uint64_t state, uint64_t value) {
  return mix_bits(state + kGolden * (value + 1));
}

// Returns a uniform value in [0, 1) with 53 random bits.
double hashed_uniform(uint64_t seed, uint64_t layer, uint64_t key, uint64_t element) {
  const uint64_t bits = chain(chain(chain(mix_bits(seed), layer), key), element);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

at::Tensor mask(const at::Tensor& like, int64_t width, double drop, uint64_t layer,
                const StepContext& context) {
  if (!context.keys)
    throw std::logic_error("dropout and drop path need the sample keys of the batch");
  const int64_t rows = like.size(0);
  at::Tensor host = at::empty({rows, width}, at::kDouble);
  double* out = host.data_ptr<double>();
  const double kept = drop < 1 ? 1 / (1 - drop) : 0;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < width; ++i) {
      const double u =
          hashed_uniform(context.seed, layer, context.keys[r], static_cast<uint64_t>(i));
      *out++ = u < drop ? 0.0 : kept;
    }
  }
  return upload(host.to(like.scalar_type()), like.device());
}

}  // namespace

double dropout_rate(double dropout, const StepContext& context) {
  return std::min(dropout * context.strength, kMaxDropped);
}

at::Tensor row_mask(const at::Tensor& like, double drop, uint64_t layer,
                    const StepContext& context) {
  return mask(like, 1, drop, layer, context).view({like.size(0)});
}

at::Tensor element_mask(const at::Tensor& like, double drop, uint64_t layer,
                        const StepContext& context) {
  return mask(like, like.size(1), drop, layer, context);
}

}  // namespace shoal::models
