#pragma once
// Makes all ranks agree on their images before the first step. All functions are collective.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "dist/connect.h"

namespace shoal::app {

// Relabels the dataset with the union of all ranks' classes, for hosts that have different images.
std::shared_ptr<const data::Dataset> with_all_classes(std::shared_ptr<const data::Dataset> dataset,
                                                      const dist::Communicator& communicator);

// Checks that every rank has found the same images: the same classes, names, labels and, if the
// listing contains them, sizes. If not, throws std::runtime_error on every rank, naming the ranks
// that differ from rank 0. `option`, `source`: for the message.
void check_same_listing(const data::Dataset& dataset, const std::string& option,
                        const std::string& source, const dist::Communicator& communicator);

// Sizes of the hosts' shares of a sharded split.
struct Shares {
  int64_t all = 0;       // images on all hosts
  int64_t smallest = 0;  // images on the host that has the fewest
};
Shares count_shares(const data::Source& source, const dist::Communicator& communicator);

// Replaces each value with the largest one on any rank. All ranks have the same number of values.
void take_largest(std::vector<uint64_t>& values, const dist::Communicator& communicator);

// Returns a number that is the same for all processes of this host and differs between hosts and
// runs.
uint64_t host_token(const dist::Communicator& communicator);

}  // namespace shoal::app
