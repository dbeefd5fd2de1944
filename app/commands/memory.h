#pragma once
// Chooses the batch size of --batch-size auto, and checks that a run fits into memory.

#include <cstdint>

#include "dist/connect.h"
#include "train/job/job.h"
#include "train/step/device.h"

namespace shoal::app {

// Returns how many bytes each process may still allocate. Each rank computes its share of its
// host's available memory or, with a GPU, of the GPU's free memory. The result is the smallest
// share of all ranks. Collective.
int64_t memory_share(const train::Gpus& gpus, const dist::Communicator& communicator);

// Sets job.batch_size to the largest batch, up to 1024 images per process, that fits into 90 % of
// `memory` bytes. With --batch-per-host, multiplies it by the processes per host.
// With --global-batch-size, also sets job.accumulate so that all batches of a step add up to it.
// Chooses the same values on all ranks, even if their memory needs differ because their hosts have
// different numbers of processors. Throws UserError if no batch size is possible. Rank 0 logs the
// result. Collective.
void choose_batch_size(train::Job& job, const train::Surroundings& here, int64_t memory,
                       const dist::Communicator& communicator);

// Checks that training fits into `memory` bytes. If it does not, throws UserError for the fused
// kernels, whose need is known, and warns for other kernels. If `leader`, logs the need or the
// warning.
void check_memory(const train::ResolvedJob& resolved, int64_t memory, bool leader);

}  // namespace shoal::app
