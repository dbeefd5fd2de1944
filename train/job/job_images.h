#pragma once
// Checks and derives the settings of a job that concern images. For train/ only. Does not use
// LibTorch.

#include "base/text.h"
#include "train/job/job.h"

namespace shoal::train {

// Checks the options for selecting training images, for crops and random erasing, and for the
// schedules of image size and augmentation strength. Throws UserError naming the option.
void check_images(const Job& job);

// Returns the image sizes and the strength of augmentation by epoch (--size-schedule,
// --multi-scale, --strength-schedule). Throws UserError naming the option.
data::Progression progression_of(const Job& job);

// Returns a rank's loader options, except the length of an epoch and the division of per-host
// shards. Use rank_loader_options(), which adds both.
data::LoaderOptions loader_options(const ResolvedJob& job, int64_t rank, bool train);

}  // namespace shoal::train
