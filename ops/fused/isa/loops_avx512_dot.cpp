#define SHOAL_LOOPS avx512_dot
#define SHOAL_BF16
#define SHOAL_DOT
#include "ops/fused/loops.h"
