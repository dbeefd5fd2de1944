#include "app/commands/inputs/agreement.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/format/counted.h"
#include "base/hash.h"
#include "base/text.h"
#include "data/sources/relabeled.h"
#include "dist/gather.h"

namespace shoal::app {

std::shared_ptr<const data::Dataset> with_all_classes(std::shared_ptr<const data::Dataset> dataset,
                                                      const dist::Communicator& communicator) {
  std::string mine;
  for (const std::string& name : dataset->classes()) mine += name + '\0';
  std::vector<std::vector<std::string>> lists;
  for (const std::string& text : dist::gather_text(communicator.main, mine))
    lists.push_back(split(text, '\0'));
  return data::with_classes(std::move(dataset), data::united_classes(lists), "all hosts");
}

void check_same_listing(const data::Dataset& dataset, const std::string& option,
                        const std::string& source, const dist::Communicator& communicator) {
  if (communicator.size() == 1) return;
  const uint64_t hash = data::listing_hash(dataset, source);
  const auto hashes = dist::gather_number(communicator.main, static_cast<int64_t>(hash));
  const auto sizes = dist::gather_number(communicator.main, dataset.size());
  std::vector<std::string> others;
  for (size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] == hashes[0]) continue;
    others.push_back("rank " + dist::rank_with_host(static_cast<int>(rank), communicator.env) +
                     " (" + counted(sizes[rank], "image") + ")");
  }
  if (others.empty()) return;
  throw std::runtime_error(
      option + " " + source + ": " + joined(others) + " found different images than rank " +
      dist::rank_with_host(0, communicator.env) + " (" + std::to_string(sizes[0]) +
      " images): names, sizes, labels or classes differ; give every host the same images, or use "
      "--sharded if each host has its own images");
}

uint64_t host_token(const dist::Communicator& communicator) {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const uint64_t mine = combine(static_cast<uint64_t>(now), static_cast<uint64_t>(::getpid()));
  const auto all = dist::gather_number(communicator.main, static_cast<int64_t>(mine));
  const dist::Env& env = communicator.env;
  return static_cast<uint64_t>(all[static_cast<size_t>(env.rank - env.local_rank)]);
}

Shares count_shares(const data::Source& source, const dist::Communicator& communicator) {
  const auto sizes = dist::gather_number(communicator.main, source.size());
  Shares shares;
  shares.smallest = *std::min_element(sizes.begin(), sizes.end());
  const auto of_host = static_cast<size_t>(communicator.env.local_world_size);
  for (size_t rank = 0; rank < sizes.size(); rank += of_host) shares.all += sizes[rank];
  return shares;
}

void take_largest(std::vector<uint64_t>& values, const dist::Communicator& communicator) {
  const std::vector<uint64_t> all = dist::gather_values(communicator.main, values);
  for (size_t i = 0; i < all.size(); ++i) {
    uint64_t& largest = values[i % values.size()];
    largest = std::max(largest, all[i]);
  }
}

}  // namespace shoal::app
