#pragma once
// Which images the loader of a rank reads. Does not use LibTorch.

#include "train/job/job_images.h"

namespace shoal::train {

// Returns loader_options() for this rank's part of the images. If each host has its own images
// (ResolvedJob::train_sharded, val_sharded), the ranks of a host divide the host's images, and the
// training order differs between hosts. Does not divide pipes of training images:
// app/launch/pipes.h assigns them to ranks. Limits a training epoch to steps_per_epoch, unless its
// length is unknown (ResolvedJob::open_ended).
data::LoaderOptions rank_loader_options(const ResolvedJob& job, int64_t rank, bool train);

}  // namespace shoal::train
