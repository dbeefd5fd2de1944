#define SHOAL_LOOPS avx512
#include "ops/fused/loops.h"
