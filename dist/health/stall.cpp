#include "dist/health/stall.h"

#include <cmath>
#include <sstream>

#include "base/text.h"

namespace shoal::dist {
namespace {

constexpr size_t kNamed = 16;  // maximum number of ranks to name; the others are counted

std::string seconds(double value) {
  return std::to_string(static_cast<int64_t>(std::llround(value))) + " s";
}

bool is_busy(Phase phase) {
  return phase != Phase::waiting && phase != Phase::stepping && phase != Phase::updating;
}

}  // namespace

std::string encode_pulse(int64_t beat, const Progress::State& state) {
  return std::to_string(beat) + " " + std::to_string(static_cast<int>(state.phase)) + " " +
         std::to_string(static_cast<int64_t>(1e3 * state.seconds)) + " " + state.operation;
}

std::optional<std::pair<int64_t, Progress::State>> decode_pulse(const std::string& text) {
  std::istringstream in(text);
  int64_t beat = 0, milliseconds = 0;
  int phase = 0;
  if (!(in >> beat >> phase >> milliseconds)) return std::nullopt;
  if (phase < 0 || phase > static_cast<int>(Phase::waiting)) return std::nullopt;
  Progress::State state;
  state.phase = static_cast<Phase>(phase);
  state.seconds = 1e-3 * static_cast<double>(milliseconds);
  in.get();
  std::getline(in, state.operation);
  return std::pair(beat, state);
}

// Names ranks that are silent or have long been busy with something other than a step. A step
// includes waiting for other ranks' gradients, so ranks that compute a step are named only if there
// is no other explanation.
std::string describe_stall(const std::vector<Pulse>& pulses, const Env& env, double patience) {
  std::vector<std::string> late, stepping;
  for (size_t rank = 0; rank < pulses.size(); ++rank) {
    const Pulse& pulse = pulses[rank];
    const std::string name = "rank " + rank_with_host(static_cast<int>(rank), env);
    const std::string phase = text_of(pulse.state.phase);
    if (!pulse.alive)
      late.push_back(name + " has sent no heartbeat for " + seconds(pulse.silent_seconds) +
                     " (it was " + phase + ")");
    else if (is_busy(pulse.state.phase) && pulse.state.seconds > patience / 2)
      late.push_back(name + " has been " + text_of(pulse.state));
    else if (pulse.state.phase != Phase::waiting && pulse.state.seconds > patience / 2)
      stepping.push_back(name);
  }
  const Progress::State& own = pulses.front().state;
  if (pulses.size() == 1)
    return "no progress for " + seconds(own.seconds) + ": this process has been " + text_of(own);
  std::string text = "no progress for " + seconds(own.seconds);
  if (own.phase == Phase::waiting) text += " in " + own.operation;
  if (!late.empty()) return text + ": " + joined(late, ", ", kNamed);
  if (!stepping.empty() && stepping.size() < pulses.size())
    return text + ": " + joined(stepping, ", ", kNamed) + " is still computing a step";
  return text + ": every rank responds and waits for the others; check the network between hosts";
}

std::string describe_loss(const std::vector<Pulse>& pulses, const Env& env, double limit) {
  std::vector<std::string> lost;
  for (size_t rank = 0; rank < pulses.size(); ++rank) {
    if (pulses[rank].silent_seconds < limit) continue;
    lost.push_back("rank " + rank_with_host(static_cast<int>(rank), env) +
                   " has sent no heartbeat for " + seconds(pulses[rank].silent_seconds));
  }
  return joined(lost, ", ", kNamed);
}

}  // namespace shoal::dist
