#include "train/step/memory_need.h"

#include <algorithm>

#include "data/data_options.h"
#include "models/catalogue.h"
#include "models/program/program.h"
#include "train/job/rank_loader_options.h"
#include "train/step/trained.h"

namespace shoal::train {
namespace {

constexpr int64_t kFloat = sizeof(float);
// Bytes that autograd and oneDNN need per element of the largest output, in addition to the outputs
// of all operations. Estimated: predictions with these values match the measured peaks of five
// networks within 10 %.
constexpr int64_t kHeldBytes = 12, kHeldBytesBf16 = 16;
// Measured size of the code and small buffers that the first step on a CPU adds to a process.
constexpr int64_t kProgram = 60'000'000;

int64_t bytes_per_number(const ResolvedJob& job) {
  if (job.float64) return sizeof(double);
  return job.amp == Precision::bf16 ? 2 : kFloat;
}

// Side of the largest training images in pixels.
int64_t largest_side(const ResolvedJob& job) {
  return rank_loader_options(job, 0, /*train=*/true).sides().largest_side();
}

// Returns for each parameter whether it is trained in the epoch with the fewest frozen layers.
std::vector<bool> trained_parameters(const ResolvedJob& job, const models::Network& network) {
  const int64_t frozen = job.unfreeze_epoch > 0 ? 0 : job.frozen_stages;
  std::vector<bool> trained;
  for (const models::Parameter& p : network.parameters)
    trained.push_back(is_trained(p.traits, frozen, job));
  return trained;
}

int64_t fused_bytes(const ResolvedJob& job, const models::Network& network, int64_t images,
                    int64_t side, std::vector<bool> trained) {
  models::StepShape shape{
      images, side, side, std::move(trained),
      job.amp == Precision::bf16 ? ops::fused::Storage::bf16 : ops::fused::Storage::f32};
  return kFloat * models::Program(network, std::move(shape), job.threads).floats();
}

// Estimates the bytes of activations without the fused step. Assumes that every operation's output
// is kept until its backward pass.
int64_t reference_bytes(const ResolvedJob& job, const models::Network& network, int64_t images,
                        int64_t side) {
  double kept = 0, largest = 0;
  for (const models::Node& node : network.nodes) {
    const auto numbers = static_cast<double>(node.out.channels * node.out.height * node.out.width);
    kept += numbers;
    largest = std::max(largest, numbers);
  }
  const double held_bytes = job.amp == Precision::bf16 ? kHeldBytesBf16 : kHeldBytes;
  const double bytes = kept * static_cast<double>(bytes_per_number(job)) + largest * held_bytes;
  const double scale = static_cast<double>(side) / static_cast<double>(network.info.eval_size);
  return static_cast<int64_t>(scale * scale * bytes * static_cast<double>(images));
}

int64_t activation_bytes(const ResolvedJob& job, const models::Network& network, int64_t batch) {
  const int64_t side = largest_side(job);
  if (job.model.kernels != models::Kernels::fused)
    return reference_bytes(job, network, batch, job.eval_only ? job.val_size : side);
  const std::vector<bool> trained = trained_parameters(job, network);
  const std::vector<bool> none(trained.size(), false);
  const int64_t evaluation = fused_bytes(job, network, batch, job.val_size, none);
  if (job.eval_only) return evaluation;
  return std::max(evaluation, fused_bytes(job, network, batch, side, trained));
}

MemoryNeed need_of(const ResolvedJob& job, const models::Network& network, int64_t batch) {
  const int64_t parameters = network.info.parameters * (job.float64 ? 8 : kFloat);
  // Number of buffers, each as large as the weights, that a checkpoint contains: weights, optimizer
  // state, averaged weights.
  const int64_t saved =
      job.eval_only ? 1 : 1 + state_buffers(job.optimizer) + (job.ema > 0 ? 1 : 0);
  // Number of other buffers as large as the weights: the initial weights, whose memory the
  // allocator keeps; the gradients; with several micro-batches, the gradients of one micro-batch.
  const int64_t others = 1 + (job.eval_only ? 0 : 1) + (job.accumulate > 1 ? 1 : 0);
  const int64_t copies = job.amp == Precision::off ? 0 : parameters / 2;
  // `sent`: bytes of the buffers of dist::Bf16Average, for --gradient-compression bf16.
  const bool sends =
      job.gradient_compression == Precision::bf16 && job.world_size > 1 && !job.eval_only;
  const int64_t sent = sends ? parameters + parameters / (2 * job.world_size) : 0;
  const int64_t side = job.eval_only ? job.val_size : largest_side(job);
  const int64_t image = side * side * job.transform.channels;
  const int64_t batches = data::LoaderOptions().batches_ahead + 1;
  const int64_t val_image = job.val_size * job.val_size * job.transform.channels;
  MemoryNeed need;
  need.activations = activation_bytes(job, network, batch);
  need.state = (saved + others) * parameters + copies + sent;
  need.input = batch * image * bytes_per_number(job);
  need.program = job.device == "cpu" ? kProgram : 0;
  need.host = saved * parameters + batch * batches * (image * job.mix.images_per_row() + val_image);
  return need;
}

}  // namespace

MemoryNeed memory_need(const ResolvedJob& job) {
  return memory_need(job, job.batch_size);
}

MemoryNeed memory_need(const ResolvedJob& job, int64_t batch_size) {
  return need_of(job, models::make_network(job.model), batch_size);
}

int64_t largest_batch(const ResolvedJob& job, int64_t multiple, int64_t limit, int64_t bytes) {
  const models::Network network = models::make_network(job.model);
  const auto fits = [&](int64_t factor) {
    return limited_bytes(job, need_of(job, network, factor * multiple)) <= bytes;
  };
  int64_t low = 0, high = limit / multiple + 1;  // low fits; high does not or exceeds the limit
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low * multiple;
}

int64_t limited_bytes(const ResolvedJob& job, const MemoryNeed& need) {
  return job.device == "cpu" ? need.total() : need.compute();
}

}  // namespace shoal::train
