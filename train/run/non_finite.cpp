#include "train/run/non_finite.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/format/counted.h"
#include "base/text.h"

namespace shoal::train {
namespace {

// Returns the end of a message: which steps were not finite, `details`, and advice. On rank 0, the
// advice also names the newest checkpoint from before these steps, which pruning keeps.
std::string steps_and_advice(const RunContext& run, const std::string& details = "") {
  const int64_t count = run.position.non_finite_in_a_row;
  std::string text = counted(count, "step") + (count > 1 ? " in a row" : "") + ", up to step " +
                     std::to_string(run.position.step) + details +
                     ". Lower --lr, set --clip, or check the data";
  if (!run.leader()) return text;
  const auto entries = run.store->entries();  // newest first
  const auto sound = std::ranges::find_if(entries, [&](const CheckpointEntry& entry) {
    return entry.step < run.position.trusted_before();
  });
  if (sound != entries.end())
    text += "; continue from before these steps with --resume " + run.store->path(*sound).string();
  return text;
}

}  // namespace

void check_finite(const RunContext& run, RunCheckpoints& checkpoints, const StepResult& step) {
  Position& position = run.position;
  if (step.finite) {
    if (std::exchange(position.non_finite_in_a_row, 0) > 0)
      run.store.protect_before(position.trusted_before());
    return;
  }
  ++position.non_finite;
  // `updates`: number of steps. Keep the name, because programs may parse it in metric lines.
  run.reporter.event({"nonfinite", position.step, {{"updates", 1}}});
  ++position.non_finite_in_a_row;
  run.store.protect_before(position.trusted_before());
  if (position.non_finite_in_a_row < run.job.non_finite_limit) return;
  checkpoints.save_and_fail("loss or gradient was not finite in " +
                            steps_and_advice(run, strf(" (learning rate %g, gradient norm %g)",
                                                       position.lr, std::abs(step.gradient_norm))));
}

void require_finite_end(const RunContext& run, const Meter& evaluation) {
  const bool sound = !evaluation.empty() && std::isfinite(evaluation.loss);
  if (run.position.non_finite_in_a_row == 0 || sound) return;
  throw std::runtime_error("the run reached its end, but its loss or gradient was not finite in " +
                           steps_and_advice(run));
}

}  // namespace shoal::train
