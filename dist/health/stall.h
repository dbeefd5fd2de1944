#pragma once
// Determines from the heartbeats which ranks the others wait for. Used on rank 0. Does not use
// LibTorch.

#include <optional>
#include <string>
#include <vector>

#include "dist/env/env.h"
#include "dist/health/progress.h"

namespace shoal::dist {

// One rank's last heartbeat.
struct HeartbeatState {
  Progress::State state;
  double silent_seconds = 0;  // since rank 0 last saw a new heartbeat
  bool alive = true;          // false if the last 3 heartbeats are missing
};

// Returns a heartbeat's wire format: "NUMBER PHASE MILLISECONDS OPERATION".
std::string encode_heartbeat(int64_t number, const Progress::State& state);
// Returns nullopt for malformed text.
std::optional<std::pair<int64_t, Progress::State>> decode_heartbeat(const std::string& text);

// Returns one sentence that says which ranks (and hosts, if known) the others wait for, and what
// these ranks are doing. Names the ranks that are not `alive`, and those that have been starting,
// reading, evaluating or saving for more than half of `patience` seconds. If there are none, names
// the ranks that have been computing a step for that long, unless all ranks have. If no rank can be
// named, suggests checking the network. With one rank, says what this process is doing.
// `heartbeats` has one entry per rank, in rank order.
std::string describe_stall(const std::vector<HeartbeatState>& heartbeats, const Env& env,
                           double patience);

// Returns one sentence that names the ranks (and hosts) that have sent no heartbeat for `limit`
// seconds; empty if there are none.
std::string describe_loss(const std::vector<HeartbeatState>& heartbeats, const Env& env,
                          double limit);

}  // namespace shoal::dist
