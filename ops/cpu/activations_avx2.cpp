#define SHOAL_LOOPS avx2
#include "ops/cpu/activations_loops.h"
