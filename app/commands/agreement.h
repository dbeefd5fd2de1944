#pragma once
// What ranks must agree on about their images before the first update.

#include <cstdint>
#include <memory>
#include <string>

#include "data/dataset.h"
#include "dist/connect.h"

namespace shoal::app {

// The dataset with the classes of all ranks' datasets together: hosts hold different images.
// Collective.
std::shared_ptr<const data::Dataset> with_all_classes(std::shared_ptr<const data::Dataset> dataset,
                                                      const dist::Communicator& communicator);

// Every rank has found the same images: classes, names, labels and, where the listing knows them,
// sizes. `option` and `source` stand in the message. Throws std::runtime_error on every rank,
// naming the ranks that differ from rank 0. Collective.
void check_same_listing(const data::Dataset& dataset, const std::string& option,
                        const std::string& source, const dist::Communicator& communicator);

// Of the images of all hosts: how many there are, and how many the host with the fewest has.
struct Shares {
  int64_t all = 0, smallest = 0;
};
// Collective.
Shares count_shares(const data::Dataset& dataset, const dist::Communicator& communicator);

// A number that the processes of this host have in common, and nobody else. Collective.
uint64_t host_token(const dist::Communicator& communicator);

}  // namespace shoal::app
