#define SHOAL_LOOPS avx2
#include "ops/fused/loops.h"
