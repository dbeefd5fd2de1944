#define SHOAL_LOOPS portable
#include "ops/cpu/activations_loops.h"
