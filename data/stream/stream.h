#pragma once
// A source whose images can only be read one after the other: pipes (sources/pipes.h), or files
// that are read from front to back (stream/whole_files.h).

#include <memory>

#include "data/source.h"
#include "data/stream/epoch.h"

namespace shoal::data {

class Stream : public Source {
 public:
  // Starts the next epoch and returns its images. Call StreamEpoch::end() of the previous epoch
  // first.
  virtual std::shared_ptr<StreamEpoch> begin_epoch(const EpochRequest& request) const = 0;
};

}  // namespace shoal::data
