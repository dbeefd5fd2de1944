#pragma once
// Collects or distributes small values over Gloo. Works with groups of any size.

#include <cstdint>
#include <string>
#include <vector>

#include "dist/group.h"

namespace shoal::dist {

// Each returns every rank's value of `mine`, in rank order. Collective.
std::vector<int64_t> gather_number(const Group& group, int64_t mine);
std::vector<std::string> gather_text(const Group& group, const std::string& mine);

// Each replaces the value on every rank with the value of rank 0. Collective.
void broadcast_bytes(const Group& group, std::vector<char>& bytes);
void broadcast_text(const Group& group, std::string& text);

}  // namespace shoal::dist
