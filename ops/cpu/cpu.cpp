#include "ops/cpu/kernels.h"
#include "ops/reference/kernels.h"

namespace shoal::ops {

const Table& cpu() {
  namespace k = cpu_kernels;
  static const Table table = [] {
    Table t = reference();
    t.name = "portable";
    t.gradient_norm = k::gradient_norm;
    t.sgd = k::sgd;
    t.rmsprop_tf = k::rmsprop_tf;
    t.adamw = k::adamw;
    t.ema = k::ema;
    return t;
  }();
  return table;
}

}  // namespace shoal::ops
