#pragma once
// Predicts how much memory one process of a run needs, without allocating it. The size of the
// activations is exact for the fused step, and an estimate for the reference kernels and GPUs.

#include <cstdint>

#include "train/job/job.h"

namespace shoal::train {

// In bytes. With a GPU, `host` is host memory, and the others are GPU memory.
struct MemoryNeed {
  int64_t activations = 0;  // of a training step or an evaluation, whichever needs more
  int64_t state = 0;        // weights, EMA, optimizer state, gradients, gradient exchange buffers
  int64_t input = 0;        // images of a micro-batch, as the network reads them
  int64_t program = 0;      // code and buffers of LibTorch that the first step adds; GPU: 0
  int64_t host = 0;         // the loader's batches, and the copy of the state for a checkpoint

  int64_t compute() const { return activations + state + input + program; }
  int64_t total() const { return compute() + host; }
};

// Returns the memory for training with the run's largest images (--size-schedule, --multi-scale);
// with job.eval_only, the memory for an evaluation.
MemoryNeed memory_need(const ResolvedJob& job);
// The same with another batch size.
MemoryNeed memory_need(const ResolvedJob& job, int64_t batch_size);

// Returns the largest batch size up to `limit` that is a multiple of `multiple` and for which
// limited_bytes() is at most `bytes`; 0 if not even `multiple` fits.
int64_t largest_batch(const ResolvedJob& job, int64_t multiple, int64_t limit, int64_t bytes);

// Returns the bytes that limit the batch size: total() on the CPU, compute() on a GPU.
int64_t limited_bytes(const ResolvedJob& job, const MemoryNeed& need);

}  // namespace shoal::train
