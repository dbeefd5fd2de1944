#define SHOAL_LOOPS portable
#include "ops/cpu/depthwise_loops.h"
