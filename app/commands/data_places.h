#pragma once
// Where the images of a job are, and which options about them fit together. Reads no image.

#include <string>

#include "train/run/job.h"

namespace shoal::app {

// `own` (--train or --val), else the first place where `half`, train or val, may be in --data. The
// place need not exist.
std::string source_of(const train::Job& job, const std::string& own, const std::string& half);

// Where validation images are; empty: nowhere.
std::string validation_source(const train::Job& job);

// Folder for listings and seek indexes; empty: they are not kept.
std::string cache_folder(const train::Job& job);
// Folder for the seek indexes of the training images; empty: --no-seek-index.
std::string index_folder(const train::Job& job);

// Whether each host holds a share of its own of `half`, train or val (--sharded).
bool is_sharded(const train::Job& job, const std::string& half);

// For the evaluation of a run that held out `share` of its training images (--val-split): makes that
// part the validation images, unless others are named or are in --data. `leader` warns where a
// larger part is asked for.
void take_held_out(train::Job& job, double share, bool leader);

// Throw UserError naming the option.
// What --data, --train or --val name does not exist. Comes before everything that takes time or
// looks at --output.
void check_data_is_there(const train::Job& job);
// --data is missing where a half is not named by itself, or does not hold that half.
void check_data_folder(const train::Job& job, const std::string& half);
void check_split(const train::Job& job);  // what --val-split cannot be combined with
void check_source_options(const train::Job& job, bool with_train);  // options without a use

}  // namespace shoal::app
