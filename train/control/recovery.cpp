#include "train/control/recovery.h"

#include <algorithm>

#include "base/log.h"
#include "train/checkpoint/resume.h"

namespace shoal::train {
namespace {

constexpr int64_t kSoon = 64;  // a spike within so many steps after a rollback continues its series
constexpr int64_t kMaxRollbacks = 12;  // in one series of spikes

}  // namespace

Recovery::Recovery(const ResolvedJob& job, Trainer& trainer, CheckpointStore& store,
                   dist::Communicator& communicator, ReportSink& reporter, Position& position)
    : job_(job),
      trainer_(trainer),
      store_(store),
      communicator_(communicator),
      reporter_(reporter),
      position_(position),
      losses_(job.spike_ratio) {
  losses_.restore(position.losses);
}

bool Recovery::add_loss(const dist::ControlMessage& message, int64_t step) {
  // Ignores an empty message, a step that was skipped or not committed, and steps that were made
  // before the rollback.
  if (message.images == 0 || step <= position_.skip_until) return false;
  const auto event = losses_.add(message.loss_sum / static_cast<double>(message.images));
  if (!event) return false;
  reporter_.event({event->name, step, {{"loss", event->loss}, {"median", event->median}}});
  if (event->name != std::string("loss_spike")) return false;
  if (job_.on_spike == OnSpike::rollback) roll_back(step);
  return job_.on_spike == OnSpike::checkpoint;
}

void Recovery::add_step_time(double seconds) {
  if (const auto event = speed_.add(seconds))
    reporter_.event({event->name,
                     position_.step,
                     {{"step_time", event->seconds}, {"median", event->median}},
                     /*in_history=*/false});
}

void Recovery::roll_back(int64_t spike) {
  count_rollback(spike);
  // The checkpoint must be from before the step that precedes the spike, because that step may
  // already have damaged the weights.
  const auto found = checkpoint_before(position_.trouble_start - 1, store_, communicator_.main);
  if (!found) {
    if (communicator_.rank() == 0)
      log::warning(
          strf("cannot roll back: there is no checkpoint from before step %lld. The run continues; "
               "--checkpoint-steps saves more often",
               static_cast<long long>(spike)));
    return;
  }
  trainer_.load(found->data);
  const int64_t from = found->data.integer("step");
  const bool again = position_.rollbacks > 1;
  position_.skip_until = position_.step + (again ? int64_t{1} << (position_.rollbacks - 1) : 0);
  reporter_.event({"rollback",
                   position_.step,
                   {{"to_step", static_cast<double>(from)},
                    {"first_skipped", static_cast<double>(from + 1)},
                    {"last_skipped", static_cast<double>(position_.skip_until)}}});
  if (communicator_.rank() == 0)
    log::warning(strf(
        "the loss spiked in step %lld: rolled back to the weights of %s; the images of steps %lld "
        "to %lld are skipped",
        static_cast<long long>(spike), found->file.c_str(), static_cast<long long>(from + 1),
        static_cast<long long>(position_.skip_until)));
}

void Recovery::count_rollback(int64_t spike) {
  losses_.rearm();
  const bool again = position_.rollbacks > 0 && spike - position_.skip_until <= kSoon;
  if (!again) {
    position_.rollbacks = 0;
    position_.trouble_start = spike;
    store_.protect_before(spike - 1);
  }
  if (++position_.rollbacks > kMaxRollbacks)
    throw RollbacksFailed(strf(
        "the loss spiked again after each of %lld rollbacks, up to step %lld: the cause is not "
        "a few bad images. Lower --lr, set --clip, or leave out --on-spike rollback",
        static_cast<long long>(kMaxRollbacks), static_cast<long long>(spike)));
}

}  // namespace shoal::train
