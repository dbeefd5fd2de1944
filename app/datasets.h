#pragma once
// The pictures of a job: where they lie, and what ranks must agree on about them.

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "dist/connect.h"
#include "train/job.h"

namespace shoal::app {

struct Datasets {
  std::shared_ptr<const data::Dataset> train;  // null when only evaluating
  std::shared_ptr<const data::Dataset> val;
  std::string train_source, val_source;  // what they were opened from: a folder, file or pattern
};

// The names in the file of --classes, one per line. Throws UserError where it has none, or one twice.
std::vector<std::string> read_class_names(const std::string& path);

// Whether each host holds a share of its own of `half`, train or val (--sharded).
bool is_sharded(const train::Job& job, const std::string& half);

// For the evaluation of a run that held out `share` of its training images (--val-split): makes that
// part the validation images, unless others are named or lie in --data. `leader` warns where a
// larger part is asked for.
void take_held_out(train::Job& job, double share, bool leader);

// Folder for the seek indexes of the training pictures; empty: --no-seek-index.
std::string index_folder(const train::Job& job);

// Throws UserError naming the option when what --data, --train or --val name does not exist. Reads
// nothing, so it comes before everything that takes time or looks at --output.
void check_data_is_there(const train::Job& job);

// Opens --data (or --train, --val, or what --val-split holds out) and checks that all ranks have the
// same images (agreement.h). `known`: the classes of the checkpoint, where there is one. Without training images, validation
// labels count in them. Validation images may lack classes but not have others. Throws UserError
// naming the option. Collective.
Datasets open_datasets(const train::Job& job, bool with_train,
                       const std::vector<std::string>& known,
                       const dist::Communicator& communicator);

}  // namespace shoal::app
