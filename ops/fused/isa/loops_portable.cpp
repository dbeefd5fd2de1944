#define SHOAL_LOOPS portable
#include "ops/fused/loops.h"
