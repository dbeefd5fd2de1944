#pragma once
// Finds the ranks that the others wait for, from their heartbeats. Used on rank 0. No torch.

#include <optional>
#include <string>
#include <vector>

#include "dist/env/env.h"
#include "dist/health/progress.h"

namespace shoal::dist {

// One rank's last heartbeat.
struct Pulse {
  Progress::State state;
  double silent_seconds = 0;  // since rank 0 last saw a new heartbeat
  bool alive = true;          // whether the last heartbeats arrived in time
};

// Returns a heartbeat's wire format: "BEAT PHASE MILLISECONDS OPERATION".
std::string encode_pulse(int64_t beat, const Progress::State& state);
// Returns nullopt for malformed text.
std::optional<std::pair<int64_t, Progress::State>> decode_pulse(const std::string& text);

// Returns one sentence that names the ranks (and hosts, if known) that are silent or busy with
// something else, and what they are doing. `pulses` are in rank order, starting with rank 0. A rank
// is named if its phase has lasted longer than half of `patience` (seconds). With one rank, returns
// what this process is doing.
std::string describe_stall(const std::vector<Pulse>& pulses, const Env& env, double patience);

// Returns one sentence that names the ranks (and hosts) that have sent no heartbeat for `limit`
// seconds; empty if there are none.
std::string describe_loss(const std::vector<Pulse>& pulses, const Env& env, double limit);

// Returns "2 (algo-2)", or "2" if the host is not known.
std::string rank_with_host(int rank, const Env& env);

}  // namespace shoal::dist
