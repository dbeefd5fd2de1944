#pragma once
// Opens the images of one split on all ranks.

#include <memory>
#include <string>
#include <vector>

#include "app/commands/data_places.h"
#include "data/dataset.h"
#include "data/stream/stream.h"
#include "dist/connect.h"
#include "train/run/job.h"

namespace shoal::app {

using Classes = std::vector<std::string>;

// What is needed to open one split.
struct Opening {
  const train::Job& job;
  const Split& split;
  const dist::Communicator& communicator;
  bool quiet = false;  // opened before: warnings were given

  std::string option() const { return "--" + split.name; }
  const std::string& source() const { return split.location.text; }
  bool sharded() const { return train::is_sharded(job, split.name); }
  bool piped() const { return split.location.is_pipe(); }
};

// Opens the pipe of this process; `known` are its classes. Throws UserError naming the option.
// Collective.
std::shared_ptr<const data::Stream> open_pipe(const Opening& opening, const Classes& known);

// Lists the images of files and checks that ranks agree on them (agreement.h). Throws UserError
// naming the option. Collective.
std::shared_ptr<const data::Dataset> open_listed(const Opening& opening, const Classes& known);

// The images as this process reads them: in any order, or front to back with --forward-reads.
std::shared_ptr<const data::Source> as_read(const Opening& opening,
                                            const std::shared_ptr<const data::Dataset>& dataset);

}  // namespace shoal::app
