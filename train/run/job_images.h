#pragma once
// The part of a job that says how training images are made. For train/ only. Torch-free.

#include "base/text.h"
#include "train/run/job.h"

namespace shoal::train {

// Crops, erased areas, sizes by epoch. Throws UserError naming the option.
void check_images(const Job& job);

// Sizes and strengths by epoch, of a run of job.epochs. Throws UserError naming the option.
data::Progression progression_of(const Job& job);

// Returns the loader options before sharding; use rank_loader_options().
data::LoaderOptions loader_options(const ResolvedJob& job, int64_t rank, bool train);

}  // namespace shoal::train
