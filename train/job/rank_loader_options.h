#pragma once
// Which images the loader of a rank reads. Does not use LibTorch.

#include "train/job/job_images.h"

namespace shoal::train {

// Returns loader_options() with this rank's part of the images. If each host has its own images
// (ResolvedJob::train_sharded, val_sharded), they are divided among the host's ranks, in an order
// that differs between hosts. A stream is cut after the epoch's steps.
data::LoaderOptions rank_loader_options(const ResolvedJob& job, int64_t rank, bool train);

}  // namespace shoal::train
