#pragma once
// The part of a job that says how training images are made: checks, names, what is saved, and
// what the loader is told. For train/ only. Torch-free.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/run/job.h"

namespace shoal::train {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string number(double value);  // the shortest text that reads back as the same number

// Throw UserError that names the option and its range.
void check_range(const char* option, double value, double low, double high);
void check_count(const char* option, std::optional<int64_t> value, int64_t most);

// Crops, mixing, erasing, augmentation. Throws UserError naming the option.
void check_images(const Job& job);

// Sizes and strengths by epoch, of a run of job.epochs. Throws UserError naming the option.
data::Progression progression_of(const Job& job);

// bilinear | bicubic | random
data::Interpolation interpolation_named(const std::string& name);
const char* name(data::Interpolation filter);

// Of this rank's loader, for training or evaluation.
data::LoaderOptions loader_options(const ResolvedJob& job, int64_t rank, bool train);

// What settings() says of all these.
Pairs describe_images(const Job& job);

}  // namespace shoal::train
