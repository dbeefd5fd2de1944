#pragma once
// The settings of a job that concern the images. For train/ only. Does not use LibTorch.

#include "base/text.h"
#include "train/job/job.h"

namespace shoal::train {

// Checks the options for crops, random erasing, and the image sizes and augmentation strengths of
// the epochs. Throws UserError naming the option.
void check_images(const Job& job);

// Returns the image size and the strength of augmentation for each of job.epochs epochs
// (--size-schedule, --strength-schedule). Throws UserError naming the option.
data::Progression progression_of(const Job& job);

// Returns the loader options without per-host sharding, which rank_loader_options() adds. Other
// code calls rank_loader_options().
data::LoaderOptions loader_options(const ResolvedJob& job, int64_t rank, bool train);

}  // namespace shoal::train
