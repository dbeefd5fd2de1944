#define SHOAL_LOOPS portable_bf16
#define SHOAL_BF16
#include "ops/fused/loops.h"
