#include "dist/health/stall.h"

#include <cmath>
#include <sstream>

#include "base/text.h"
#include "dist/health/named_ranks.h"

namespace shoal::dist {
namespace {

std::string seconds(double value) {
  return std::to_string(static_cast<int64_t>(std::llround(value))) + " s";
}

bool is_busy(Phase phase) {
  return phase != Phase::waiting && phase != Phase::stepping && phase != Phase::updating;
}

}  // namespace

std::string encode_heartbeat(int64_t number, const Progress::State& state) {
  return std::to_string(number) + " " + std::to_string(static_cast<int>(state.phase)) + " " +
         std::to_string(static_cast<int64_t>(1e3 * state.seconds)) + " " + state.operation;
}

std::optional<std::pair<int64_t, Progress::State>> decode_heartbeat(const std::string& text) {
  std::istringstream in(text);
  int64_t number = 0, milliseconds = 0;
  int phase = 0;
  if (!(in >> number >> phase >> milliseconds)) return std::nullopt;
  if (phase < 0 || phase > static_cast<int>(Phase::waiting)) return std::nullopt;
  Progress::State state;
  state.phase = static_cast<Phase>(phase);
  state.seconds = 1e-3 * static_cast<double>(milliseconds);
  in.get();
  std::getline(in, state.operation);
  return std::pair(number, state);
}

// Names ranks that are silent or have long been busy with something other than a step. A step
// includes waiting for other ranks' gradients, so ranks that compute a step are named only if there
// is no other explanation.
std::string describe_stall(const std::vector<HeartbeatState>& heartbeats, const Env& env,
                           double patience) {
  std::vector<std::string> late, stepping;
  for (size_t rank = 0; rank < heartbeats.size(); ++rank) {
    const HeartbeatState& heartbeat = heartbeats[rank];
    const std::string name = "rank " + rank_with_host(static_cast<int>(rank), env);
    const std::string phase = text_of(heartbeat.state.phase);
    if (!heartbeat.alive)
      late.push_back(name + " has sent no heartbeat for " + seconds(heartbeat.silent_seconds) +
                     " (it was " + phase + ")");
    else if (is_busy(heartbeat.state.phase) && heartbeat.state.seconds > patience / 2)
      late.push_back(name + " has been " + text_of(heartbeat.state));
    else if (heartbeat.state.phase != Phase::waiting && heartbeat.state.seconds > patience / 2)
      stepping.push_back(name);
  }
  const Progress::State& own = heartbeats.front().state;
  if (heartbeats.size() == 1)
    return "no progress for " + seconds(own.seconds) + ": this process has been " + text_of(own);
  std::string text = "no progress for " + seconds(own.seconds);
  if (own.phase == Phase::waiting) text += " in " + own.operation;
  if (!late.empty()) return text + ": " + joined(late, ", ", kNamedRanks);
  if (!stepping.empty() && stepping.size() < heartbeats.size())
    return text + ": " + joined(stepping, ", ", kNamedRanks) + " still computing a step";
  return text + ": every rank responds and waits for the others; check the network between hosts";
}

std::string describe_loss(const std::vector<HeartbeatState>& heartbeats, const Env& env,
                          double limit) {
  std::vector<std::string> lost;
  for (size_t rank = 0; rank < heartbeats.size(); ++rank) {
    if (heartbeats[rank].silent_seconds < limit) continue;
    lost.push_back("rank " + rank_with_host(static_cast<int>(rank), env) +
                   " has sent no heartbeat for " + seconds(heartbeats[rank].silent_seconds));
  }
  return joined(lost, ", ", kNamedRanks);
}

}  // namespace shoal::dist
