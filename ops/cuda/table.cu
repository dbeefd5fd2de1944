#include "ops/cuda/table.cuh"
#include "ops/cuda/table.h"

namespace shoal::ops {

const Table& cuda_table() {
  static const Table table = cuda_kernels::make_table("cuda");
  return table;
}

}  // namespace shoal::ops
