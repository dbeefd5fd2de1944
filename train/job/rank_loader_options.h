#pragma once
// Which images the loader of a rank reads. Does not use LibTorch.

#include "train/job/job_images.h"

namespace shoal::train {

// Returns loader_options() for this rank's part of the images. If each host has its own images
// (ResolvedJob::train_sharded, val_sharded), the ranks of a host divide them, and the training
// order differs between hosts. Pipes of training images are not divided here, but by the app
// (app/launch/pipes.h). Limits a training epoch to its steps, unless its length is unknown
// (ResolvedJob::open_ended).
data::LoaderOptions rank_loader_options(const ResolvedJob& job, int64_t rank, bool train);

}  // namespace shoal::train
