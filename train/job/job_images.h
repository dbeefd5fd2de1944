#pragma once
// Checks and derives the settings of a job that concern images. For train/ only. Does not use
// LibTorch.

#include "base/text.h"
#include "train/job/job.h"

namespace shoal::train {

// Checks the options that select training images, those of crops and random erasing, and the
// schedules of image size and augmentation strength. Throws UserError naming the option.
void check_images(const Job& job);

// Returns the image sizes and the strength of augmentation by epoch (--size-schedule,
// --multi-scale, --strength-schedule). Throws UserError naming the option.
data::Progression progression_of(const Job& job);

// Returns the loader options of a rank without per-host sharding and the length of an epoch. Call
// rank_loader_options() instead, which adds both.
data::LoaderOptions loader_options(const ResolvedJob& job, int64_t rank, bool train);

}  // namespace shoal::train
