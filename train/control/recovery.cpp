#include "train/control/recovery.h"

#include <algorithm>

#include "base/log.h"
#include "train/checkpoint/find_checkpoint.h"

namespace shoal::train {
namespace {

constexpr int64_t kSoon = 64;  // most steps from the last skipped one to the next spike of a series
constexpr int64_t kMaxRollbacks = 12;  // in one series of spikes

// Returns the scale of the loss, for LossWatch. A binary cross-entropy averaged over the classes is
// small, because the loss of most classes is near 0.
double unit_of_loss(const ResolvedJob& job) {
  const bool is_mean = job.loss == Loss::binary && !job.bce_sum;
  return is_mean ? 1 / static_cast<double>(job.model.classes) : 1;
}

}  // namespace

Recovery::Recovery(const ResolvedJob& job, Trainer& trainer, BackgroundStore& store,
                   dist::Communicator& communicator, ReportSink& reporter, Position& position)
    : job_(job),
      trainer_(trainer),
      store_(store),
      communicator_(communicator),
      reporter_(reporter),
      position_(position),
      losses_(job.spike_ratio, unit_of_loss(job)) {
  losses_.restore(position.losses);
}

bool Recovery::add_loss(const Meter& metrics, int64_t step) {
  // Ignores skipped steps and steps without a finite loss.
  if (metrics.empty() || step <= position_.skip_until) return false;
  const auto event = losses_.add(metrics.mean_loss());
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
  position_.rollback_due = spike;  // if the rollback fails, the resumed run repeats it
  const bool again = position_.rollbacks > 0 && spike - position_.skip_until <= kSoon;
  const int64_t rollbacks = again ? position_.rollbacks + 1 : 1;
  const int64_t trouble_start = again ? position_.trouble_start : spike;
  store_.protect_before(trouble_start - 1);
  if (rollbacks > kMaxRollbacks) fail(spike);
  // The update of the step before the spike may have damaged the weights, so the checkpoint must be
  // older than that step.
  const auto found = checkpoint_before(trouble_start - 1, *store_, communicator_.main);
  if (!found) {
    position_.rollback_due = 0;
    if (communicator_.rank() == 0)
      log::warning(
          strf("cannot roll back: there is no checkpoint from before step %ld. The run continues; "
               "--checkpoint-steps saves more often",
               spike));
    return;
  }
  trainer_.load(found->data);
  losses_.rearm();
  position_.rollback_due = 0;
  position_.rollbacks = rollbacks;
  position_.trouble_start = trouble_start;
  const int64_t from = found->data.integer("step");
  position_.skip_until = position_.step + (again ? int64_t{1} << (rollbacks - 1) : 0);
  reporter_.event({"rollback",
                   position_.step,
                   {{"to_step", static_cast<double>(from)},
                    {"first_skipped", static_cast<double>(from + 1)},
                    {"last_skipped", static_cast<double>(position_.skip_until)}}});
  if (communicator_.rank() == 0)
    log::warning(strf(
        "the loss spiked in step %ld: rolled back to the weights of %s; the images of steps %ld "
        "to %ld are skipped",
        spike, found->file.c_str(), from + 1, position_.skip_until));
}

void Recovery::fail(int64_t spike) {
  position_.rollback_due = 0;  // a resumed run continues without a rollback
  throw RollbacksFailed(
      strf("the loss spiked again after each of %ld rollbacks, up to step %ld: the cause is not "
           "a few bad images. Lower --lr, set --clip, or leave out --on-spike rollback",
           kMaxRollbacks, spike));
}

}  // namespace shoal::train
