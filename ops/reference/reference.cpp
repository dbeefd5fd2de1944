#include "ops/reference/kernels.h"

namespace shoal::ops {

const Table& reference() {
  namespace k = reference_kernels;
  static const Table table = {
      .name = "reference",
      .prepare_batch = k::prepare_batch,
      .batch_norm_sums = k::batch_norm_sums,
      .batch_norm_finish = k::batch_norm_finish,
      .batch_norm_apply = k::batch_norm_apply,
      .batch_norm_backward_sums = k::batch_norm_backward_sums,
      .batch_norm_backward_apply = k::batch_norm_backward_apply,
      .pool = k::pool,
      .gate_apply = k::gate_apply,
      .gate_backward_sums = k::gate_backward_sums,
      .gate_backward_apply = k::gate_backward_apply,
      .mask = k::mask,
      .depthwise_backward_weights = k::depthwise_backward_weights,
      .cross_entropy = k::cross_entropy,
      .binary_cross_entropy = k::binary_cross_entropy,
      .gradient_norm = k::gradient_norm,
      .optimize = k::optimize,
      .ema = k::ema,
  };
  return table;
}

}  // namespace shoal::ops
