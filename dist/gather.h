#pragma once
// Collects a small value of each rank. For CPU groups of any size.

#include <cstdint>
#include <string>
#include <vector>

#include "dist/group.h"

namespace shoal::dist {

// Each returns the value of `mine` of every rank, in rank order. Collective.
std::vector<int64_t> gather_number(const Group& group, int64_t mine);
std::vector<std::string> gather_text(const Group& group, const std::string& mine);

}  // namespace shoal::dist
