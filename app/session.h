#pragma once
// What train and eval do before the first picture: which rank this is, logging, threads, data,
// settings, connections.

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

// Checks the values, sets logging and the allocator up. Call first. predict, which is never
// distributed, hands an
// empty Env.
void begin(const train::Job& job, const dist::Env& env);

// Folder for the seek indexes of the training pictures; empty: --no-seek-index.
std::string index_folder(const train::Job& job);

// Opens --data (or --train, --val) and checks that both halves have the same classes, and all ranks
// the same pictures (agreement.h). Throws UserError naming the option. `known`: the classes of the
// checkpoint where there is no training half. Collective.
Datasets open_datasets(const train::Job& job, bool with_train,
                       const std::vector<std::string>& known,
                       const dist::Communicator& communicator);

// Decides everything that is open and sets the compute threads. Collective.
train::ResolvedJob settle(const train::Job& job, const Datasets& datasets,
                          const dist::Communicator& communicator);

// --health-check: this host's resources, then all hosts together (dist/health.h). Throws
// std::runtime_error naming what is bad. Collective.
void check_health(const train::Job& job, const dist::Communicator& communicator);

dist::Communicator connect_ranks(const train::Job& job, const dist::Env& env);

}  // namespace shoal::app
