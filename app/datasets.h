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
};

// Whether each host holds a share of its own of `half`, train or val (--sharded).
bool is_sharded(const train::Job& job, const std::string& half);

// Folder for the seek indexes of the training pictures; empty: --no-seek-index.
std::string index_folder(const train::Job& job);

// Opens --data (or --train, --val) and checks that both halves have the same classes, and all ranks
// the same pictures (agreement.h). Throws UserError naming the option. `known`: the classes of the
// checkpoint, where there is one; they count where nothing else tells them. Collective.
Datasets open_datasets(const train::Job& job, bool with_train,
                       const std::vector<std::string>& known,
                       const dist::Communicator& communicator);

}  // namespace shoal::app
