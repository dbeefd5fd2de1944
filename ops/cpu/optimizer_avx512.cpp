#define SHOAL_LOOPS avx512
#include "ops/cpu/optimizer_loops.h"
