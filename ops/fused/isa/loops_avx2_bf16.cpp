#define SHOAL_LOOPS avx2_bf16
#define SHOAL_BF16
#include "ops/fused/loops.h"
