#pragma once
// What the measurements of a health check say. No torch.

#include <optional>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::dist {

// What one rank found.
struct HealthSample {
  // Of the links between this host and the one after it, and the one before it; measured by the
  // first rank of each host, 0 where nothing was measured.
  double bytes_per_second_next = 0, bytes_per_second_previous = 0;
  bool damaged_next = false, damaged_previous = false;  // what arrived was not what was sent
  uint64_t arithmetic = 0;                              // a fixed calculation's result
  bool sum_is_right = true;                             // of an all-reduce
};

// A sentence that names what is bad, hosts first of all; empty when nothing is. `samples` by rank.
std::optional<std::string> judge(const std::vector<HealthSample>& samples, const Env& env);

// Something is bad, and only because it is slow.
bool is_only_slow(std::vector<HealthSample> samples, const Env& env);

}  // namespace shoal::dist
