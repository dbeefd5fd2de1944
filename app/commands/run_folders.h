#pragma once
// Checks of the folders that a run writes to, and a check that a path of images is not a run's
// folder.

#include "app/commands/inputs/data_places.h"
#include "dist/group.h"
#include "train/job/job.h"

namespace shoal::app {

// Throws UserError on all ranks if rank 0 cannot write to the run's folders, if --export-dir is
// inside another run's folder, or if a folder of the run is inside a folder of images, where it
// would look like a class. Warns if the validation images are the training images. Collective.
void check_run_folders(const train::Job& job, const DataPlaces& places, const dist::Group& group);

// Throws UserError if `images`, a path that the user gave for images, is the folder of a run.
void require_no_run(const std::string& images);

}  // namespace shoal::app
