#define SHOAL_LOOPS avx2
#include "ops/cpu/optimizer_loops.h"
