#pragma once
// Tests hosts and network before training starts.

#include <functional>

#include "dist/connect.h"
#include "dist/health/health_verdict.h"

namespace shoal::dist {

// quick: sends 2 MiB over each link in both directions, at least 3 and at most 8 times. full: sends
// 32 MiB each time.
enum class HealthCheck { off, quick, full };

struct HealthReport {
  double slowest_bytes_per_second = 0;  // slowest link between hosts; 0 if there is only one host
};

// Exchanges data between neighboring hosts, runs the same calculation on every rank, and sums known
// numbers over all ranks. Collective. Does nothing in a world of one. If a check fails, every rank
// throws the same std::runtime_error, which names the faulty hosts or ranks. Also throws if a
// neighbor does not respond for 20 s. `received`, for unit tests, is called with the data from
// another host before the data is compared.
HealthReport check_health(const Communicator& communicator, HealthCheck level,
                          const std::function<void(at::Tensor&)>& received = {});

}  // namespace shoal::dist
