#include "ops/cpu/isa.h"
#include "ops/cpu/kernels.h"
#include "ops/reference/kernels.h"

namespace shoal::ops {
namespace {

const Table* table_of_gpu = nullptr;
const Table* replacement = nullptr;

}  // namespace

const Table* gpu() {
  return table_of_gpu;
}

void set_gpu(const Table* table) {
  table_of_gpu = table;
}

const Table& cpu() {
  namespace k = cpu_kernels;
  static const Table table = [] {
    Table t = reference();
    t.name = k::best_isa().name;
    t.prepare_batch = k::prepare_batch;
    t.batch_norm_sums = k::batch_norm_sums;
    t.batch_norm_apply = k::batch_norm_apply;
    t.batch_norm_backward_sums = k::batch_norm_backward_sums;
    t.batch_norm_backward_apply = k::batch_norm_backward_apply;
    t.pool = k::pool;
    t.gate_apply = k::gate_apply;
    t.gate_backward_sums = k::gate_backward_sums;
    t.gate_backward_apply = k::gate_backward_apply;
    t.depthwise_backward_weights = k::depthwise_backward_weights;
    t.gradient_norm = k::gradient_norm;
    t.optimize = k::optimize;
    t.ema = k::ema;
    return t;
  }();
  return replacement ? *replacement : table;
}

void replace_cpu(const Table* table) {
  replacement = table;
}

}  // namespace shoal::ops
