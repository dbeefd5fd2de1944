#pragma once
// Locates the images of a job and checks which data options can be combined. Reads no images.

#include <string>
#include <vector>

#include "data/sources/location.h"
#include "train/job/job.h"

namespace shoal::app {

// The images of one split, as named by the options.
struct Split {
  std::string name;         // train or val
  std::string option;       // --train, --val or --data, for messages
  data::Location location;  // `text` is empty if no option names this split
  bool found() const { return location.exists && !location.text.empty(); }
};

struct DataPlaces {
  Split train, val;
  data::Location folder;  // the path in --data; `text` is empty without --data
};

// Locates the images that --data, --train and --val name. Call once per run and pass the result on.
DataPlaces find_data(const train::Job& job);

// Returns the folder for the seek indexes of the training images; empty if there is none, for
// example with --no-seek-index.
std::string index_folder(const train::Job& job, const DataPlaces& places);

// Returns "--per-class N" or "--fraction X", whichever selects a portion of the training images,
// for messages.
std::string portion_text(const train::Job& job);

// For evaluating a run that held out `share` of its training images (--val-split): selects these
// images for validation, unless --data or --val provides others. If `leader`, warns if the job asks
// for a larger share than the run held out.
void take_held_out(train::Job& job, const DataPlaces& places, double share, bool leader);

// If all classes are named like splits (train, val, test), returns their names for a message, for
// example "train and val". Otherwise returns "".
std::string split_folders(const std::vector<std::string>& classes);

// The following functions throw UserError that names the option.

// Checks that the paths in --data, --train and --val exist. Call before slow steps and before
// accessing --output.
void check_data_exists(const train::Job& job, const DataPlaces& places);
// Checks that --data is a folder that is not empty, and that no folder in it is named like a split
// but with capital letters. Call if no images were found in it.
// `trains`: as for check_split_exists().
void check_data_has_entries(const std::string& data, bool trains);
// Checks that an option names the images of `split`, which is in `places`. If that option is
// --data, checks that its folder contains them. `trains`: whether the command also needs training
// images.
void check_split_exists(const train::Job& job, const DataPlaces& places, const Split& split,
                        bool trains);
// Checks that the other options and the data allow --val-split.
void check_val_split(const train::Job& job, const DataPlaces& places);
// Rejects images of --train or --val whose classes have the names of splits.
void check_not_splits(const Split& split, const std::vector<std::string>& classes);
// Rejects --val-synsets without --val-labels.
void check_synsets(const train::Job& job);
// Rejects options that have no effect on the images in `places` or cannot work with them.
void check_source_options(const train::Job& job, const DataPlaces& places, bool with_train);

// If `data` is train/ or val/ in a folder that contains both, returns the path of the other one,
// otherwise "".
std::string other_split(const std::string& data);

}  // namespace shoal::app
