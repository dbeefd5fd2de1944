#include "train/job/rank_loader_options.h"

#include "base/hash.h"

namespace shoal::train {

data::LoaderOptions rank_loader_options(const ResolvedJob& job, int64_t rank, bool train) {
  data::LoaderOptions options = loader_options(job, rank, train);
  // Limits an epoch to the number of images that its steps use. So --balance divides exactly this
  // number among the classes, and the loader can prefetch the next epoch right after these images.
  if (train && !job.open_ended) options.batches = job.steps_per_epoch * job.accumulate;
  options.hosts = job.world_size / job.local_world_size;
  if (!(train ? job.train_sharded && !job.train_streamed : job.val_sharded)) return options;
  options.hosts = 1;  // the loader sees only this host's images
  const int64_t host = rank / job.local_world_size;
  options.rank = rank % job.local_world_size;
  options.world_size = job.local_world_size;
  options.uneven = !train;
  if (host > 0) {
    options.seed = combine(options.seed, static_cast<uint64_t>(host));
    // A seek index is stored under a sample number, which means a different image on each host.
    if (!options.index_dir.empty()) options.index_dir += "-host" + std::to_string(host);
  }
  options.mix.group = options.mix.group * job.local_world_size / job.world_size;
  options.progression.images_per_step =
      options.progression.images_per_step * job.local_world_size / job.world_size;
  return options;
}

}  // namespace shoal::train
