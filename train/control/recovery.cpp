#include "train/control/recovery.h"

#include <algorithm>
#include <stdexcept>

#include "base/log.h"
#include "train/checkpoint/resume.h"

namespace shoal::train {
namespace {

constexpr int64_t kSoon = 64;           // updates between two spikes of one trouble
constexpr int64_t kMostRollbacks = 12;  // of one trouble

}  // namespace

Recovery::Recovery(const ResolvedJob& job, Trainer& trainer, CheckpointStore& store,
                   dist::Communicator& communicator, Reporter& reporter, Position& position)
    : job_(job),
      trainer_(trainer),
      store_(store),
      communicator_(communicator),
      reporter_(reporter),
      position_(position),
      losses_(job.spike_ratio) {
  losses_.restore(position.losses);
  if (position.rollbacks > 0) store.protect_before(position.trouble_start - 1);
}

bool Recovery::heard(const dist::ControlMessage& word, int64_t step) {
  // Nothing was said yet, not committed or skipped; or done with weights that have been taken back.
  if (word.images == 0 || step <= position_.skip_until) return false;
  const auto event = losses_.add(word.loss_sum / static_cast<double>(word.images));
  bool save = false;
  if (event) {
    reporter_.event(event->name, step, {{"loss", event->loss}, {"median", event->median}});
    const bool spike = event->name == std::string("loss_spike");
    save = spike && job_.on_spike == OnSpike::checkpoint;
    if (spike && job_.on_spike == OnSpike::rollback) roll_back(step);
  }
  return save;
}

void Recovery::took(double seconds) {
  if (const auto event = speed_.add(seconds))
    reporter_.event(event->name, position_.step,
                    {{"step_time", event->seconds}, {"median", event->median}},
                    /*in_history=*/false);
}

void Recovery::roll_back(int64_t spike) {
  begin_trouble(spike);
  // The update before the spike may have broken the weights.
  const auto found = checkpoint_before(position_.trouble_start - 1, store_, communicator_.main);
  if (!found) {
    if (communicator_.rank() == 0)
      log::warning(
          strf("there is no checkpoint from before update %lld to go back to; the run goes "
               "on as it is. --checkpoint-steps makes them more often",
               static_cast<long long>(spike)));
    return;
  }
  trainer_.load(found->data);
  const int64_t from = found->data.integer("step");
  const bool again = position_.rollbacks > 1;
  position_.skip_until = position_.step + (again ? int64_t{1} << (position_.rollbacks - 1) : 0);
  reporter_.event("rollback", position_.step,
                  {{"to_step", static_cast<double>(from)},
                   {"first_skipped", static_cast<double>(from + 1)},
                   {"last_skipped", static_cast<double>(position_.skip_until)}});
  if (communicator_.rank() == 0)
    log::warning(
        strf("the loss spiked in update %lld: back to the weights of %s; the images of updates "
             "%lld to "
             "%lld are skipped",
             static_cast<long long>(spike), found->file.c_str(), static_cast<long long>(from + 1),
             static_cast<long long>(position_.skip_until)));
}

// Or goes on with the one before.
void Recovery::begin_trouble(int64_t spike) {
  losses_.listen_again();
  const bool again = position_.rollbacks > 0 && spike - position_.skip_until <= kSoon;
  if (!again) {
    position_.rollbacks = 0;
    position_.trouble_start = spike;
    store_.protect_before(spike - 1);
  }
  if (++position_.rollbacks > kMostRollbacks)
    throw std::runtime_error(
        strf("the loss spiked again after each of %lld rollbacks, up to update %lld: it is not a "
             "stretch of the data. Lower --lr, set --clip, or leave --on-spike rollback out",
             static_cast<long long>(kMostRollbacks), static_cast<long long>(spike)));
}

}  // namespace shoal::train
