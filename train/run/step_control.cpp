#include "train/run/step_control.h"

#include <cmath>
#include <string>

#include "base/now.h"
#include "train/control/stop.h"

namespace shoal::train {

StepControl::StepControl(const RunContext& run, dist::ControlChannel& control, Recovery& recovery,
                         RunCheckpoints& checkpoints)
    : run_(run), control_(control), recovery_(recovery), checkpoints_(checkpoints) {}

int StepControl::exchange(const Meter& step, int64_t unreadable) {
  const bool save = handle_loss(step);  // before collect(), which throws if a peer is lost
  const dist::ControlMessage previous = control_.collect();
  dist::ControlMessage message;
  message.stop_signal = stop_signal();
  // If the previous message requests a checkpoint, apply() saves it below. Do not request another.
  message.checkpoint_requested =
      take_checkpoint_request() || (!previous.checkpoint_requested && checkpoints_.due_by_time());
  message.unreadable_images = unreadable_.take_new(unreadable);
  if (run_.leader() && run_.job.time_budget > 0)
    message.trained_ms = std::llround(1e3 * run_.time.trained(now()));
  control_.post(message);
  return apply(previous, run_.position.step - 1, save);
}

// Handles the step's loss. Returns whether a checkpoint should be saved.
bool StepControl::handle_loss(const Meter& step) try {
  return recovery_.add_loss(step, run_.position.step);
} catch (const RollbacksFailed& error) {
  checkpoints_.save_and_fail(error.what());
}

int StepControl::apply_last(int stop_signal) {
  dist::ControlMessage message = control_.collect();
  if (stop_signal != 0) message.stop_signal = stop_signal;
  return apply(message, run_.position.step);
}

// Reports images that could not be read at `step`. Returns why the run must end, or an empty string
// if it can continue.
std::string StepControl::count_unreadable(int64_t images, int64_t step) {
  // Not written to history.jsonl: normally, a step's message is handled one step later, but a run
  // that stops handles its last message at once. So the position of the line would depend on stops.
  if (images > 0)
    run_.reporter.event({"unreadable",
                         step,
                         {{"images", static_cast<double>(images)}},
                         /*in_history=*/false});
  return unreadable_.add(images, run_.position.step_in_epoch);
}

int StepControl::apply(const dist::ControlMessage& message, int64_t step, bool save) {
  if (message.trained_ms > 0)
    run_.time.arrived(step, static_cast<double>(message.trained_ms) / 1e3);
  const std::string reason = count_unreadable(message.unreadable_images, step);
  if (!reason.empty()) checkpoints_.save_and_fail(reason);
  if (message.stop_signal != 0) {
    // If exchange() called this function, it has posted the last step's message. Collect it,
    // because no message may be pending when the run ends.
    count_unreadable(control_.collect().unreadable_images, run_.position.step);
    return message.stop_signal;
  }
  const bool due = save || message.checkpoint_requested || checkpoints_.due_by_steps();
  // At the end of an epoch or of the run, a checkpoint is saved anyway.
  if (due && !run_.epoch_or_run_over()) checkpoints_.save();
  return 0;
}

}  // namespace shoal::train
