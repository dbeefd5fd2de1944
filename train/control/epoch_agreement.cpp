#include "train/control/epoch_agreement.h"

#include <ATen/ops/empty.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/log.h"
#include "train/control/stop.h"
#include "train/run/job_images.h"

namespace shoal::train {

namespace {

constexpr std::chrono::seconds kCountingTime(5);  // for images that nobody will take

}  // namespace

data::LoaderOptions share_options(const ResolvedJob& job, int rank, bool train) {
  data::LoaderOptions options = loader_options(job, rank, train);
  if (train && job.ranks_have_own_images())
    options.batches = job.open_ended ? 0 : job.steps_per_epoch * job.accumulate;
  options.hosts = job.world_size / job.local_world_size;
  if (!(train ? job.train_sharded && !job.train_streamed : job.val_sharded)) return options;
  options.hosts = 1;  // others have other images
  const int64_t host = rank / job.local_world_size;
  options.rank = rank % job.local_world_size;
  options.world_size = job.local_world_size;
  options.uneven = !train;
  if (host > 0) options.seed = combine(options.seed, static_cast<uint64_t>(host));
  options.mix.group = options.mix.group * job.local_world_size / job.world_size;
  options.progression.update = options.progression.update * job.local_world_size / job.world_size;
  return options;
}

Supply::Supply(const ResolvedJob& job, dist::Communicator& communicator)
    : job_(job), communicator_(communicator), channel_(communicator.control) {}

bool Supply::lasts(data::Loader& loader, int64_t step_in_epoch) {
  if (!job_.train_streamed) return true;
  communicator_.main.enter(dist::Phase::reading);
  const bool enough = loader.has_batches((step_in_epoch + 1) * job_.accumulate,
                                         [] { return shoal::train::stop_signal() != 0; });
  dist::ControlMessage word;
  word.out_of_data = enough ? 0 : 1;
  if (!enough) word.stop_signal = shoal::train::stop_signal();
  channel_.post(word);
  word = channel_.collect();
  stop_signal_ = word.stop_signal;
  return word.out_of_data == 0;
}

void Supply::tell_end(data::Loader& loader, int64_t epoch, int64_t steps) {
  const data::StreamCounts counts =
      loader.count_rest(kCountingTime, [] { return shoal::train::stop_signal() != 0; });
  const int64_t taken = job_.accumulate * job_.batch_size * job_.mix.images_per_row();
  const int64_t used = steps * taken;
  at::Tensor mine = at::empty({2}, at::kLong);
  mine.mutable_data_ptr<int64_t>()[0] = counts.read - used;
  mine.mutable_data_ptr<int64_t>()[1] = counts.complete ? 1 : 0;
  const std::vector<at::Tensor> all = communicator_.main.all_gather(mine);
  int64_t left = 0, open = 0;
  std::string out;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const auto* const values = all[rank].const_data_ptr<int64_t>();
    left += values[0];
    if (values[0] < taken)
      out += (out.empty() ? "" : ", ") + std::to_string(rank);
    else if (values[1] == 0)
      ++open;
  }
  if (steps == 0)
    throw std::runtime_error(
        "epoch " + std::to_string(epoch) + " has no update: the streams of rank " + out +
        " ended with fewer images than one update takes (" + std::to_string(taken) +
        " of each rank); look at what writes them, or lower --batch-size");
  const std::string of = job_.open_ended ? "" : " of " + std::to_string(job_.steps_per_epoch);
  std::string text =
      strf("epoch %lld ended after %lld%s updates, when the images of rank %s were used up; ",
           static_cast<long long>(epoch), static_cast<long long>(steps), of.c_str(), out.c_str());
  text += strf("%s%lld images were left out", open > 0 ? "at least " : "",
               static_cast<long long>(left));
  if (open > 0)
    text += strf(", and %lld streams closed before their end", static_cast<long long>(open));
  if (communicator_.rank() != 0) return;
  if (job_.open_ended)
    log::info(text);
  else
    log::warning(text);
}

}  // namespace shoal::train
