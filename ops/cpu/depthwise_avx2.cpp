#define SHOAL_LOOPS avx2
#include "ops/cpu/depthwise_loops.h"
