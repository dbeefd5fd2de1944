#pragma once
// Builds the table of the operations in this folder. table.cu compiles them for GPUs, twin.cpp
// compiles them as plain CPU loops.

#include "ops/cuda/batch_norm.cuh"
#include "ops/cuda/binary_cross_entropy.cuh"
#include "ops/cuda/cross_entropy.cuh"
#include "ops/cuda/gate.cuh"
#include "ops/cuda/mask.cuh"
#include "ops/cuda/optimizer.cuh"
#include "ops/cuda/prepare_batch.cuh"

namespace shoal::ops::cuda_kernels {

inline Table make_table(const char* name) {
  Table table = {};
  table.name = name;
  table.prepare_batch = prepare_batch;
  table.batch_norm_sums = batch_norm_sums;
  table.batch_norm_finish = batch_norm_finish;
  table.batch_norm_apply = batch_norm_apply;
  table.batch_norm_backward_sums = batch_norm_backward_sums;
  table.batch_norm_backward_apply = batch_norm_backward_apply;
  table.pool = pool;
  table.gate_apply = gate_apply;
  table.gate_backward_sums = gate_backward_sums;
  table.gate_backward_apply = gate_backward_apply;
  table.mask = mask;
  table.cross_entropy = cross_entropy;
  table.binary_cross_entropy = binary_cross_entropy;
  table.gradient_norm = gradient_norm;
  table.optimize = optimize;
  table.ema = ema;
  return table;
}

}  // namespace shoal::ops::cuda_kernels
