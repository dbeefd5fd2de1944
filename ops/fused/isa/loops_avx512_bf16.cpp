#define SHOAL_LOOPS avx512_bf16
#define SHOAL_BF16
#include "ops/fused/loops.h"
