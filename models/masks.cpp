#include "models/masks.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <stdexcept>

#include "models/functions.h"

namespace shoal::models {
namespace {

constexpr double kMaxDropped = 0.999;

at::Tensor mask(const at::Tensor& like, int64_t width, double drop, uint64_t layer,
                const StepContext& context) {
  if (!context.keys)
    throw std::logic_error("dropout and drop path need the sample keys of the batch");
  const int64_t rows = like.size(0);
  const at::Tensor out =
      at::empty({rows, width}, at::TensorOptions(like.device()).dtype(like.scalar_type()));
  operations(like.device())
      .mask({.type = type_of(like),
             .rows = rows,
             .width = width,
             .keys = context.keys,
             .seed = context.seed,
             .layer = layer,
             .drop = drop},
            out.mutable_data_ptr(), stream_of(like.device()));
  return out;
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
