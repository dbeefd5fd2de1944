#define SHOAL_LOOPS portable
#include "ops/cpu/optimizer_loops.h"
