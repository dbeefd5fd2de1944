#include "train/control/epoch_agreement.h"

#include <chrono>
#include <stdexcept>

#include "base/log.h"
#include "dist/gather.h"
#include "train/control/stop.h"

namespace shoal::train {
namespace {

constexpr std::chrono::seconds kCountingTime(5);  // limit for counting the unused images

bool stop_requested() {
  return stop_signal() != 0;
}

// Returns the number of images that each rank uses in one step.
int64_t images_per_step(const ResolvedJob& job) {
  return job.accumulate * job.batch_size * job.mix.images_per_row();
}

}  // namespace

EpochAgreement::EpochAgreement(const ResolvedJob& job, dist::Communicator& communicator)
    : job_(job), communicator_(communicator), channel_(communicator.control) {}

bool EpochAgreement::all_ranks_have_data(data::Loader& loader, int64_t step_in_epoch) {
  if (!job_.train_streamed) return true;
  bool has_data = false;
  try {
    const auto reading = communicator_.main.during(dist::Phase::reading);
    has_data = loader.has_batches((step_in_epoch + 1) * job_.accumulate, stop_requested);
  } catch (...) {
    failure_ = std::current_exception();
  }
  return agree(has_data);
}

bool EpochAgreement::agree(bool has_data) {
  dist::ControlMessage message;
  message.out_of_data = has_data ? 0 : 1;
  if (!has_data) message.stop_signal = shoal::train::stop_signal();
  channel_.post(message);
  message = channel_.collect();
  stop_signal_ = message.stop_signal;
  return message.out_of_data == 0;
}

void EpochAgreement::require_images(const std::exception_ptr& failure,
                                    const std::function<void()>& save) {
  if (agree(!failure)) return;
  if (save) save();
  if (failure) std::rethrow_exception(failure);
  throw std::runtime_error("another rank cannot read its training images; its error says why");
}

void EpochAgreement::report_end(data::Loader& loader, int64_t epoch, int64_t steps) {
  const data::StreamCounts counts = loader.count_rest(kCountingTime, stop_requested);
  const StreamRest mine = {counts.read - steps * images_per_step(job_), counts.complete};
  const std::string message = epoch_end_message(
      job_, epoch, steps, dist::gather_values<StreamRest>(communicator_.main, {mine}));
  if (communicator_.rank() != 0) return;
  if (job_.open_ended)
    log::info(message);
  else
    log::warning(message);
}

std::string epoch_end_message(const ResolvedJob& job, int64_t epoch, int64_t steps,
                              const std::vector<StreamRest>& rests) {
  int64_t left = 0, closed_early = 0;
  std::string empty_ranks;
  for (size_t rank = 0; rank < rests.size(); ++rank) {
    left += rests[rank].images;
    if (rests[rank].images < images_per_step(job))
      empty_ranks += (empty_ranks.empty() ? "" : ", ") + std::to_string(rank);
    else if (!rests[rank].complete)
      ++closed_early;
  }
  if (steps == 0)
    throw std::runtime_error(
        strf("epoch %ld has no step: the streams of rank %s ended with fewer images than one step "
             "needs (%ld per rank); check what writes them, or lower --batch-size",
             epoch, empty_ranks.c_str(), images_per_step(job)));
  const std::string of = job.open_ended ? "" : " of " + std::to_string(job.steps_per_epoch);
  std::string text = strf(
      "epoch %ld ended after %ld%s steps because rank %s had no more images; %s%ld images were "
      "left out",
      epoch, steps, of.c_str(), empty_ranks.c_str(), closed_early > 0 ? "at least " : "", left);
  if (closed_early > 0)
    text += strf(", and %ld streams were closed before their end", closed_early);
  return text;
}

}  // namespace shoal::train
