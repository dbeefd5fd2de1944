#pragma once
// Who keeps the others waiting: what rank 0 makes of the ranks' heartbeats. No torch.

#include <optional>
#include <string>
#include <vector>

#include "dist/env/env.h"
#include "dist/health/progress.h"

namespace shoal::dist {

// One rank's last heartbeat.
struct Pulse {
  Progress::State state;
  double silent_seconds = 0;  // that no new one has come, as far as rank 0 knows
  bool alive = true;          // a new one came when one was due
};

// As it travels: "BEAT PHASE MILLISECONDS OPERATION".
std::string encode_pulse(int64_t beat, const Progress::State& state);
// Empty for what is no pulse.
std::optional<std::pair<int64_t, Progress::State>> decode_pulse(const std::string& text);

// One sentence that names the ranks (with hosts, where they are known) that are silent or busy with
// something else, and with what; `pulses` by rank, of rank 0 first. `patience`: seconds after which
// a phase is long.
std::string name_the_late(const std::vector<Pulse>& pulses, const Env& env, double patience);

// "2 (algo-2)", or "2".
std::string rank_with_host(int rank, const Env& env);

}  // namespace shoal::dist
