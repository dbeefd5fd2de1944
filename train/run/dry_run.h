#pragma once
// --dry-run: what a run would find, without leaving anything behind.

#include <cstdint>
#include <memory>

#include "data/dataset.h"
#include "dist/connect.h"
#include "train/checkpoint/disk.h"
#include "train/checkpoint/resume.h"
#include "train/run/job.h"
#include "train/run/meter.h"

namespace shoal::train {

struct DryRun {
  Meter step, evaluation;      // of all ranks: the first step, and one evaluation batch of each
  double step_seconds = 0;     // of this rank; the first step is slower than later ones
  int64_t peak_bytes = 0;      // of memory, of the process with the most
  int64_t peak_gpu_bytes = 0;  // of GPU memory, likewise; 0: no GPU
  DiskNeed disk;               // of rank 0; with --eval-only nothing is needed
};

// Loads the weights or the checkpoint of `start`, makes one step and evaluates one batch on every
// rank. Writes no file. Collective. Throws what run() would throw at its start or in its first step:
// UserError for what cannot be continued or pipes, std::runtime_error for damaged data, a disk
// without room for a checkpoint, a loss or gradient that is not finite.
DryRun dry_run(const ResolvedJob& job, const Start& start,
               std::shared_ptr<const data::Source> train, std::shared_ptr<const data::Source> val,
               dist::Communicator& communicator);

}  // namespace shoal::train
