#pragma once
// Evaluates the measurements of a health check. Does not use LibTorch.

#include <optional>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::dist {

// The measurements of one rank.
struct HealthSample {
  // Rates at which this host received data from the next and the previous host. Measured by the
  // first rank of each host; 0 if not measured.
  double bytes_per_second_next = 0, bytes_per_second_previous = 0;
  bool damaged_next = false, damaged_previous = false;  // whether that data arrived damaged
  uint64_t arithmetic = 0;                              // result of a fixed calculation
  bool sum_is_right = true;                             // whether an all-reduce was correct
};

// Returns a sentence that names the faulty hosts or ranks; nullopt if there are none. `samples` are
// in rank order.
std::optional<std::string> find_fault(const std::vector<HealthSample>& samples, const Env& env);

// Whether the only fault is that links are slow.
bool is_only_slow(std::vector<HealthSample> samples, const Env& env);

}  // namespace shoal::dist
