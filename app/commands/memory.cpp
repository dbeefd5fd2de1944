#include "app/commands/memory.h"

#include <algorithm>

#include "app/launch/machine.h"
#include "base/format/counted.h"
#include "base/format/grouped.h"
#include "base/log.h"
#include "base/round.h"
#include "dist/gather.h"
#include "train/step/memory_need.h"

namespace shoal::app {
namespace {

constexpr int64_t kLargest = 1024;  // larger batches are hardly faster
constexpr int64_t kStep = 8;        // preferred divisor of automatic batch sizes
constexpr double kUsed = 0.9;       // fraction of the memory that an automatic batch may use

// Returns the largest batch size that the number of training images allows, at most kLargest.
int64_t largest_of_images(const train::Job& job, const train::Surroundings& here) {
  if (here.train_streamed || here.train_images == 0) return kLargest;
  const int64_t images = here.smallest_share > 0
                             ? here.smallest_share * here.world_size / here.local_world_size
                             : here.train_images;
  const int64_t parts = here.world_size * job.accumulate * job.mix.images_per_row();
  return std::min(kLargest, images / parts);
}

// Returns `job` resolved with `batch` images per process, for computing memory needs. Drops options
// that `batch` could contradict.
train::ResolvedJob resolved_with(const train::Job& job, const train::Surroundings& here,
                                 int64_t batch) {
  train::Job trial = job;
  trial.batch_size = batch;
  trial.batch_per_host = false;
  trial.global_batch_size.reset();
  return train::resolve(trial, here);
}

[[noreturn]] void fail_too_small(const train::ResolvedJob& job, int64_t batch, int64_t memory) {
  throw UserError("--batch-size auto: not even " + counted(batch, "image") +
                  " per process fit into memory; they need about " +
                  gigabytes_text(train::limited_bytes(job, train::memory_need(job, batch))) +
                  ", and " + gigabytes_text(memory) +
                  " are available. Use smaller images (--size), a smaller "
                  "network, or fewer processes on this host");
}

// Returns the smallest number of micro-batches per step that divides --global-batch-size into equal
// batches of at most `largest` images, each a multiple of `even`. Throws UserError if there is
// none.
int64_t micro_batches(const train::Job& job, int64_t world, int64_t largest, int64_t even) {
  const int64_t global = *job.global_batch_size;
  const int64_t first = job.accumulate, last = job.accumulate > 1 ? first : global / world;
  for (int64_t count = first; count <= last; ++count) {
    const int64_t batch = global / (world * count);
    if (global % (world * count) == 0 && batch % even == 0 && batch <= largest) return count;
  }
  throw UserError("--batch-size auto: at most " + counted(largest, "image") +
                  " per process fit into memory, and no such number divides --global-batch-size " +
                  std::to_string(global) + " over " + counted(world, "process") +
                  "; choose another global batch size, such as a multiple of 64");
}

// Returns the minimum of a number over all ranks. Collective.
int64_t smallest(const dist::Communicator& communicator, int64_t mine) {
  return std::ranges::min(dist::gather_number(communicator.main, mine));
}

}  // namespace

int64_t memory_share(const train::Gpus& gpus, const dist::Communicator& communicator) {
  const int64_t processes = std::max(1, communicator.env.local_world_size);
  int64_t mine = static_cast<int64_t>(available_memory_bytes()) / processes;
  // The UUID of this rank's GPU or MIG instance. Ranks with the same UUID share its memory; MIG
  // instances of one card do not share memory.
  const std::string own =
      gpus.count > 0 ? train::card_name("", gpus.plugin->device_info(gpus.mine)) : "";
  const std::vector<std::string> all = dist::gather_text(communicator.main, own);
  if (gpus.count > 0) {
    const int64_t sharing = std::ranges::count(all, own);
    mine = static_cast<int64_t>(gpus.plugin->device_info(gpus.mine).free_bytes) / sharing;
  }
  return smallest(communicator, mine);
}

void choose_batch_size(train::Job& job, const train::Surroundings& here, int64_t memory,
                       const dist::Communicator& communicator) {
  const int64_t most = largest_of_images(job, here), even = batch_multiple(job);
  if (most < even)
    throw UserError("--batch-size auto: a batch needs at least " + counted(even, "image") +
                    " per process, but there are only " + counted(most, "image") +
                    " per process; use fewer processes or a smaller --accumulate");
  const train::ResolvedJob trial = resolved_with(job, here, even);
  const auto usable = static_cast<int64_t>(kUsed * static_cast<double>(memory));
  int64_t fits = train::largest_batch(trial, kStep, most, usable);
  if (fits == 0) fits = train::largest_batch(trial, even, most, usable);
  fits = smallest(communicator, fits);
  if (fits == 0) fail_too_small(trial, even, memory);
  int64_t batch = fits;
  if (job.global_batch_size) {
    job.accumulate = micro_batches(job, here.world_size, fits, even);
    batch = *job.global_batch_size / (here.world_size * job.accumulate);
  }
  job.batch_size = job.batch_per_host ? batch * here.local_world_size : batch;
  job.fit_batch_size = false;
  if (communicator.rank() == 0)
    log::info(
        "--batch-size auto: " + counted(batch, "image") + " per process" +
        (job.accumulate > 1 ? ", " + counted(job.accumulate, "forward pass") + " per step" : ""));
}

void check_memory(const train::ResolvedJob& resolved, int64_t memory, bool leader) {
  const train::MemoryNeed need = train::memory_need(resolved);
  const int64_t needed = train::limited_bytes(resolved, need);
  const std::string place = resolved.device == "cpu" ? "memory" : "GPU memory";
  if (needed <= memory) {
    if (leader)
      log::info(strf("%s: about %s per process (%s for activations); %s available", place.c_str(),
                     gigabytes_text(needed).c_str(), gigabytes_text(need.activations).c_str(),
                     gigabytes_text(memory).c_str()));
    return;
  }
  const int64_t even = batch_multiple(resolved);
  const int64_t fits = train::largest_batch(resolved, even, resolved.batch_size, memory);
  const std::string text =
      "a batch of " + counted(resolved.batch_size, "image") + " per process needs about " +
      gigabytes_text(needed) + " of " + place + ", and " + gigabytes_text(memory) +
      " are available; " +
      (fits > 0 ? "at most " + counted(fits, "image") +
                      " fit: use --batch-size auto, or a smaller --batch-size with a larger "
                      "--accumulate, for the same number of images per step"
                : "use smaller images (--size) or a smaller network");
  // For kernels other than `fused`, the need is only an estimate.
  if (resolved.model.kernels == models::Kernels::fused) throw UserError(text);
  if (leader) log::warning(text);
}

}  // namespace shoal::app
