#include "app/commands/agreement.h"

#include <ATen/ops/zeros.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "data/sources/relabelled.h"
#include "dist/health/stall.h"

namespace shoal::app {
namespace {

// Returns the text of each rank. Collective.
std::vector<std::string> gather_text(const dist::Group& group, const std::string& mine) {
  const auto sizes = gather_number(group, static_cast<int64_t>(mine.size()));
  at::Tensor text = at::zeros({*std::max_element(sizes.begin(), sizes.end()) + 1}, at::kByte);
  std::memcpy(text.mutable_data_ptr<uint8_t>(), mine.data(), mine.size());
  std::vector<std::string> all;
  for (const at::Tensor& one : group.all_gather(text)) {
    const auto* const begin = reinterpret_cast<const char*>(one.const_data_ptr<uint8_t>());
    all.emplace_back(begin, static_cast<size_t>(sizes[all.size()]));
  }
  return all;
}

}  // namespace

std::vector<int64_t> gather_number(const dist::Group& group, int64_t mine) {
  at::Tensor number = at::zeros({1}, at::kLong);
  *number.mutable_data_ptr<int64_t>() = mine;
  std::vector<int64_t> all;
  for (const at::Tensor& one : group.all_gather(number)) all.push_back(one.item<int64_t>());
  return all;
}

std::shared_ptr<const data::Dataset> with_all_classes(std::shared_ptr<const data::Dataset> dataset,
                                                      const dist::Communicator& communicator) {
  std::string mine;
  for (const std::string& name : dataset->classes()) mine += name + '\0';
  std::vector<std::vector<std::string>> lists;
  for (const std::string& text : gather_text(communicator.main, mine))
    lists.push_back(split(text, '\0'));
  return data::with_classes(std::move(dataset), data::united_classes(lists), "all hosts");
}

void check_same_listing(const data::Dataset& dataset, const std::string& option,
                        const std::string& source, const dist::Communicator& communicator) {
  if (communicator.size() == 1) return;
  const uint64_t hash = data::listing_hash(dataset, source);
  const auto hashes = gather_number(communicator.main, static_cast<int64_t>(hash));
  const auto sizes = gather_number(communicator.main, dataset.size());
  std::vector<std::string> others;
  for (size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] == hashes[0]) continue;
    others.push_back("rank " + dist::rank_with_host(static_cast<int>(rank), communicator.env) +
                     " (" + std::to_string(sizes[rank]) + " images)");
  }
  if (others.empty()) return;
  throw std::runtime_error(
      option + " " + source + ": " + joined(others) + " found different images from rank " +
      dist::rank_with_host(0, communicator.env) + " (" + std::to_string(sizes[0]) +
      " images): names, sizes, labels or classes differ; give every host the same images, or use "
      "--sharded if each host has its own images");
}

uint64_t host_token(const dist::Communicator& communicator) {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const uint64_t mine = combine(static_cast<uint64_t>(now), static_cast<uint64_t>(::getpid()));
  const auto all = gather_number(communicator.main, static_cast<int64_t>(mine));
  const dist::Env& env = communicator.env;
  return static_cast<uint64_t>(all[static_cast<size_t>(env.rank - env.local_rank)]);
}

Shares count_shares(const data::Source& source, const dist::Communicator& communicator) {
  const auto sizes = gather_number(communicator.main, source.size());
  Shares shares;
  shares.smallest = *std::min_element(sizes.begin(), sizes.end());
  const auto of_host = static_cast<size_t>(communicator.env.local_world_size);
  for (size_t rank = 0; rank < sizes.size(); rank += of_host) shares.all += sizes[rank];
  return shares;
}

}  // namespace shoal::app
