#pragma once
// Tests hosts and network before training starts.

#include <functional>

#include "dist/connect.h"
#include "dist/health/health_verdict.h"

namespace shoal::dist {

enum class HealthCheck {
  off,
  quick,
  full
};  // quick: a few megabytes and milliseconds; full: 16 times as much

struct HealthReport {
  double slowest_bytes_per_second = 0;  // slowest link between hosts; 0 if there is only one host
};

// Exchanges data between neighboring hosts, runs the same calculation on every rank, and sums known
// numbers over the group. Collective. Throws std::runtime_error, the same on every rank, that names
// the bad hosts or ranks; also if a neighbor sends nothing for 20 s. `received`, for tests, is
// called with the data from another host before it is compared.
HealthReport check_health(const Communicator& communicator, HealthCheck level,
                          const std::function<void(at::Tensor&)>& received = {});

}  // namespace shoal::dist
