#pragma once
// All loops of one instruction set. The including file defines SHOAL_LOOPS (the namespace). It also
// defines SHOAL_BF16 for bfloat16 activations, and SHOAL_DOT for bfloat16 matrix products.

#include "ops/fused/between_loops.h"
#include "ops/fused/dense_backward_loops.h"
#include "ops/fused/depthwise_backward_loops.h"
#include "ops/fused/gemm_loops.h"
#include "ops/fused/pointwise_backward_loops.h"
#include "ops/fused/stem_loops.h"

#define SHOAL_TEXT_OF(name) #name
#define SHOAL_TEXT(name) SHOAL_TEXT_OF(name)

namespace shoal::ops::fused::SHOAL_LOOPS {

extern const Loops kLoops;
const Loops kLoops = {SHOAL_TEXT(SHOAL_LOOPS),
                      panels,
                      pack<Floats>,
                      pack<TileProduct>,
                      TileProduct::kTogether,
                      winograd_weights,

                      multiply_panels,
                      multiply_transposed<Floats>,
                      pointwise,
                      pointwise_backward,
                      depthwise,
                      depthwise_backward,
                      dense,
                      dense_weight_gradient,
                      dense_input_gradient,
                      stem,
                      stem_backward,
                      join,
                      join_backward,
                      pool,
                      pool_backward,
                      max_pool,
                      max_pool_backward,
                      activate_floats};

}  // namespace shoal::ops::fused::SHOAL_LOOPS
