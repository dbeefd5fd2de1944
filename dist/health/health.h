#pragma once
// A test of hosts and network before hours are spent on them.

#include <functional>

#include "dist/connect.h"
#include "dist/health/health_verdict.h"

namespace shoal::dist {

enum class HealthCheck {
  off,
  quick,
  full
};  // megabytes and milliseconds, or sixteen times as much

struct HealthReport {
  double slowest_bytes_per_second = 0;  // of the links between hosts; 0 when there is one host
};

// Each host exchanges data with its neighbours, every rank calculates the same thing, and all sum
// known numbers over the group. Collective. Throws std::runtime_error, the same on every rank, that
// names the bad hosts or ranks; and naming the neighbour when nothing comes from it for 20 s.
// `received`: sees what arrived from another host before it is compared; for tests.
HealthReport check_health(const Communicator& communicator, HealthCheck level,
                          const std::function<void(at::Tensor&)>& received = {});

}  // namespace shoal::dist
