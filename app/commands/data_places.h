#pragma once
// Where the images of a job are, and which options about them can be combined. Reads no image.

#include <string>

#include "data/sources/location.h"
#include "train/run/job.h"

namespace shoal::app {

// What the user names as the images of one split.
struct Split {
  std::string name;         // train or val
  std::string option;       // --train, --val or --data, for messages
  data::Location location;  // text is empty if no option names these images
  bool found() const { return location.exists && !location.text.empty(); }
};

struct DataPlaces {
  Split train, val;
};

// Finds what --data, --train and --val name. Call it once per start and pass the result on.
DataPlaces find_data(const train::Job& job);

// Folder for listings and seek indexes; empty: they are not kept.
std::string cache_folder(const train::Job& job);
// Folder for the seek indexes of the training images; empty with --no-seek-index.
std::string index_folder(const train::Job& job, const DataPlaces& places);

// For evaluating a run that held out `share` of its training images (--val-split): makes these the
// validation images, unless --data or --val has others. With `leader`, warns if the job asks for a
// larger share.
void take_held_out(train::Job& job, const DataPlaces& places, double share, bool leader);

// The following throw UserError naming the option.

// Checks that what --data, --train and --val name exists. Call it before anything that takes time
// or looks at --output.
void check_data_exists(const train::Job& job, const DataPlaces& places);
// Checks that the images of `split` are named, and that --data holds them.
void check_split_exists(const train::Job& job, const Split& split);
// Checks what --val-split is combined with.
void check_val_split(const train::Job& job, const DataPlaces& places);
// Checks for options that have no use with these images.
void check_source_options(const train::Job& job, const DataPlaces& places, bool with_train);

}  // namespace shoal::app
