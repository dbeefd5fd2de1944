#pragma once
// Which images the loader of a rank reads. Torch-free.

#include "train/run/job_images.h"

namespace shoal::train {

// loader_options() with this rank's part of the images. Where each host has images of its own
// (ResolvedJob::train_sharded, val_sharded), the ranks of the host divide them among themselves, in
// an order of the host's own. A stream is cut after the epoch's steps.
data::LoaderOptions rank_loader_options(const ResolvedJob& job, int64_t rank, bool train);

}  // namespace shoal::train
