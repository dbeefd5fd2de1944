#pragma once
// --dry-run: one training step and one evaluation batch, without writing a file.

#include <cstdint>
#include <memory>

#include "data/source.h"
#include "dist/connect.h"
#include "train/checkpoint/disk.h"
#include "train/checkpoint/find_checkpoint.h"
#include "train/job/job.h"
#include "train/job/meter.h"

namespace shoal::train {

struct DryRun {
  Meter step, evaluation;      // sums over all ranks; `evaluation`: of one batch per rank
  double step_seconds = 0;     // on this rank; slower than later steps of a run
  int64_t peak_bytes = 0;      // peak memory of a process; the maximum over all ranks
  int64_t peak_gpu_bytes = 0;  // the same for GPU memory; 0 without a GPU
  DiskNeed disk;               // on this rank's host; not set with --eval-only
};

// Loads the weights or the checkpoint of `start`, runs one training step, and evaluates one batch
// on every rank. With --eval-only, `train` is null and no step runs. Writes no file. Collective.
// Throws UserError if images come from a pipe or if the run cannot be continued. Throws
// std::runtime_error for damaged data, too little disk space for a checkpoint, and a loss or
// gradient that is not finite.
DryRun dry_run(const ResolvedJob& job, const Start& start,
               std::shared_ptr<const data::Source> train, std::shared_ptr<const data::Source> val,
               dist::Communicator& communicator);

}  // namespace shoal::train
