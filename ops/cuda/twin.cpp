#include "ops/cuda/table.cuh"
#include "ops/cuda/table.h"

namespace shoal::ops {

const Table& cuda_twin() {
  static const Table table = cuda_kernels::make_table("cuda twin");
  return table;
}

}  // namespace shoal::ops
