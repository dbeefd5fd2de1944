#pragma once
// All loops of one instruction set. The including file defines SHOAL_LOOPS.

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
                      pack,
                      multiply_panels,
                      multiply_transposed,
                      pointwise,
                      pointwise_backward,
                      depthwise,
                      depthwise_backward,
                      stem,
                      stem_backward,
                      join,
                      join_backward,
                      pool,
                      pool_backward};

}  // namespace shoal::ops::fused::SHOAL_LOOPS
