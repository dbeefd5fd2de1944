#pragma once
// Opens the images of one split on all ranks.

#include <memory>
#include <string>
#include <vector>

#include "app/commands/inputs/data_places.h"
#include "data/dataset.h"
#include "data/stream/stream.h"
#include "dist/connect.h"
#include "train/job/job.h"

namespace shoal::app {

using Classes = std::vector<std::string>;

// What to open: one split of a job. The objects that it refers to must outlive it.
struct OpenRequest {
  const train::Job& job;
  const Split& split;
  const dist::Communicator& communicator;
  bool quiet = false;  // the split was opened before, so do not repeat warnings

  const std::string& source() const { return split.location.text; }
  bool sharded() const { return train::is_sharded(job, split.name); }
  bool piped() const { return split.location.is_pipe(); }
};

// Opens the pipe of this process. `known`: class names by label; must not be empty. Throws
// UserError that names the option. Collective.
std::shared_ptr<const data::Stream> open_pipe(const OpenRequest& request, const Classes& known);

// Lists the images of a split that is stored in files. With --sharded, relabels them with the
// classes of all hosts; otherwise checks that all ranks found the same images (agreement.h).
// `known`: class names by label, used to look up labels in records; may be empty. Throws UserError
// that names the option. Collective.
std::shared_ptr<const data::Dataset> open_listed(const OpenRequest& request, const Classes& known);

// Returns the source that this process reads: the dataset itself or, with --forward-reads and files
// that hold many images each, a stream that reads the dataset's files sequentially.
std::shared_ptr<const data::Source> as_read(const OpenRequest& request,
                                            const std::shared_ptr<const data::Dataset>& dataset);

}  // namespace shoal::app
