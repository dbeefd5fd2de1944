#pragma once
// Opens the datasets of a job.

#include <memory>
#include <string>
#include <vector>

#include "app/commands/inputs/data_places.h"
#include "data/source.h"
#include "dist/connect.h"
#include "train/job/job.h"

namespace shoal::app {

struct Datasets {
  std::shared_ptr<const data::Source> train;  // null when only evaluating
  std::shared_ptr<const data::Source> val;
  std::string train_source, val_source;  // the folder, file or pattern of each
};

// Opens the images in `places`. With --val-split, takes both splits from the training images.
// Checks that all ranks have the same images (agreement.h). Validation labels are indices into the
// classes of the training images or, without training images, into `known`: the classes of the
// checkpoint, if there is one. Some classes may have no validation images, but validation images
// must not have other classes. Throws UserError that names the option. Collective.
Datasets open_datasets(const train::Job& job, const DataPlaces& places, bool with_train,
                       const std::vector<std::string>& known,
                       const dist::Communicator& communicator);

}  // namespace shoal::app
