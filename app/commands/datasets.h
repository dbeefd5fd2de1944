#pragma once
// The images of a job: where they lie, and what ranks must agree on about them.

#include <memory>
#include <string>
#include <vector>

#include "app/commands/data_places.h"
#include "data/dataset.h"
#include "dist/connect.h"
#include "train/run/job.h"

namespace shoal::app {

struct Datasets {
  std::shared_ptr<const data::Dataset> train;  // null when only evaluating
  std::shared_ptr<const data::Dataset> val;
  std::string train_source, val_source;  // what they were opened from: a folder, file or pattern
};

// The names in the file of --classes, one per line. Throws UserError where it has none, or one
// twice.
std::vector<std::string> read_class_names(const std::string& path);

// Opens --data (or --train, --val, or what --val-split holds out); checks that all ranks have the
// same images (agreement.h). `known`: the classes of the checkpoint, where there is one. Without
// training images, validation labels index these. Validation images may lack classes but not have
// others. Throws UserError naming the option. Collective.
Datasets open_datasets(const train::Job& job, bool with_train,
                       const std::vector<std::string>& known,
                       const dist::Communicator& communicator);

}  // namespace shoal::app
