#include "train/trial/step_profile.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <c10/core/Event.h>
#include <sys/resource.h>

#include <algorithm>
#include <new>

#include "base/now.h"
#include "data/loader/loader.h"
#include "data/random.h"
#include "models/catalogue.h"
#include "models/functions.h"
#include "models/program/plan.h"
#include "train/run/evaluate.h"
#include "train/step/cuda/open.h"
#include "train/step/device.h"
#include "train/step/profiler.h"
#include "train/trial/peak_memory.h"

namespace shoal::train {
namespace {

void synchronize(const ResolvedJob& job) {
  if (job.device == "cuda") cuda_plugin().synchronize();
}

// A batch of random pixels. With a GPU, it is in pinned memory, like the loader's batches.
class SyntheticBatch {
 public:
  SyntheticBatch(const ResolvedJob& job, int64_t side)
      : allocator_(data::with_default(batch_memory(job))) {
    const int64_t count = job.batch_size * job.mix.images_per_row();
    batch_.height = batch_.width = side;
    batch_.channels = job.transform.channels;
    batch_.normalization = job.transform.normalization;
    batch_.capacity = batch_.count = count;
    batch_.room = count * room_per_row();
    const auto bytes = static_cast<size_t>(count * batch_.image_bytes());
    const size_t all = bytes + static_cast<size_t>(batch_.room);
    batch_.images = static_cast<uint8_t*>(allocator_.allocate(all));
    if (batch_.images == nullptr) throw std::bad_alloc();
    data::KeyedRandom random(job.seed);
    std::generate_n(batch_.images, bytes, [&] { return static_cast<uint8_t>(random.next()); });
    rows_.resize(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      data::Row& row = rows_[static_cast<size_t>(i)];
      row.label = static_cast<int32_t>(i % job.model.classes);
      row.key = static_cast<uint64_t>(i) + 1;
      row.partner = static_cast<int32_t>(i);
    }
    batch_.rows = rows_;
  }
  ~SyntheticBatch() { allocator_.release(batch_.images); }
  SyntheticBatch(const SyntheticBatch&) = delete;
  SyntheticBatch& operator=(const SyntheticBatch&) = delete;

  const data::Batch& batch() const { return batch_; }

 private:
  data::BufferAllocator allocator_;
  std::vector<data::Row> rows_;
  data::Batch batch_;
};

void add(StepSeconds& sum, const StepSeconds& step) {
  sum.input += step.input;
  sum.forward += step.forward;
  sum.backward += step.backward;
  sum.update += step.update;
}

}  // namespace

StepProfile profile_step(const ResolvedJob& job, const StepProfileOptions& options) {
  StepProfile profile;
  profile.own_bytes = peak_memory();
  dist::Communicator alone = dist::connect(dist::single_process());
  Trainer trainer(job, alone);
  const SyntheticBatch images(job, options.evaluate ? job.val_size : job.size);
  const BatchSource next = [&images] { return &images.batch(); };
  int64_t step = 0;
  const auto run = [&] {
    if (!options.evaluate) return trainer.step(next, step++, job.schedule.lr);
    StepResult result;
    const double start = now();
    result.meter = evaluate_batch(trainer.model(), trainer.compute_type(), *next()).meter;
    result.seconds.forward = now() - start;
    return result;
  };
  rusage before{}, after{};
  for (int64_t i = 0; i < options.warmup + options.steps; ++i) {
    profile.stopped = options.stopped && options.stopped();
    if (profile.stopped) return profile;
    options.progress(i < options.warmup ? "warming up" : "measuring");
    if (i == options.warmup) {
      synchronize(job);
      ::getrusage(RUSAGE_SELF, &before);
      if (job.device == "cuda") cuda_plugin().reset_peak_memory(job.gpu);
    }
    const double start = now();
    const StepResult result = run();
    if (i < options.warmup) continue;
    profile.seconds.push_back(now() - start);
    add(profile.phases, result.seconds);
    profile.loss = result.meter.mean_loss();
  }
  ::getrusage(RUSAGE_SELF, &after);
  profile.page_faults = after.ru_minflt - before.ru_minflt;
  profile.peak_bytes = peak_memory();
  profile.peak_gpu_bytes = peak_gpu_memory(job);
  if (!options.trace.empty()) write_trace(options.trace, job.device == "cuda", run);
  return profile;
}

namespace {

// How often the output of each operation is written to or read from memory. Forward: written once,
// read once by the next operation. Backward adds two reads of the output (by this operation and by
// the next), and a write and a read of its gradient.
constexpr int kForwardPasses = 2, kTrainingPasses = 6;
// How often an array of the weights' size is read or written. Weights: read in forward, backward
// and optimizer, written in the optimizer. Gradients: written in backward, read for their norm and
// in the optimizer. The optimizer's own state is not counted.
constexpr int kWeightPasses = 7;

}  // namespace

StepWork step_work(const ResolvedJob& job, bool evaluate) {
  const models::Network network = models::make_network(job.model);
  const auto images = static_cast<double>(job.batch_size);
  const int64_t side = evaluate ? job.val_size : job.size;
  const double scale = static_cast<double>(side) / static_cast<double>(network.info.eval_size);
  StepWork work;
  // The backward pass does the work of the forward pass twice: for the gradients of the inputs and
  // for those of the weights.
  work.operations = 2 * network.info.multiply_adds * scale * scale * images * (evaluate ? 1 : 3);
  if (job.model.kernels != models::Kernels::fused) return work;
  models::StepShape shape{job.batch_size, side, side,
                          std::vector<bool>(network.parameters.size(), !evaluate)};
  double numbers = 0;
  for (const models::PlannedNode& node : models::plan_step(network, shape).nodes)
    if (node.output >= 0) numbers += static_cast<double>(node.channels * node.height * node.width);
  const double number_bytes = job.amp == Precision::bf16 ? 2 : 4;
  work.bytes = images * numbers * number_bytes * (evaluate ? kForwardPasses : kTrainingPasses);
  if (!evaluate) work.bytes += 4.0 * kWeightPasses * static_cast<double>(network.info.parameters);
  return work;
}

namespace {

// shortest_on_cpu() and shortest_on_gpu() repeat `work` for about kSeconds, but at least kLeast
// times. They return the shortest time of one call in seconds.
constexpr double kSeconds = 0.6;
constexpr int kLeast = 5;

double shortest_on_cpu(const std::function<void()>& work) {
  work();  // not timed: touches new memory
  double best = 1e9;
  const double begin = now();
  for (int i = 0; i < kLeast || now() - begin < kSeconds; ++i) {
    const double start = now();
    work();
    best = std::min(best, now() - start);
  }
  return best;
}

// Records an event after each call and reads all times at the end. If the host waited after each
// call, the times would include the waits and kernel launches.
double shortest_on_gpu(at::Device device, const std::function<void()>& work) {
  constexpr int kMost = 1000;
  const c10::Stream stream = models::current_stream(device);
  work();  // not timed: LibTorch chooses and loads kernels
  stream.synchronize();
  const double start = now();
  work();
  stream.synchronize();
  const double estimate = std::max(1e-6, now() - start);
  const int calls = std::clamp(static_cast<int>(kSeconds / estimate), kLeast, kMost);
  std::vector<c10::Event> events;
  for (int i = 0; i <= calls; ++i)
    events.emplace_back(device.type(), c10::EventFlag::BACKEND_DEFAULT);  // enables timing
  for (c10::Event& event : events) event.record(stream);  // creates the event outside the timing
  for (int i = 0; i <= calls; ++i) {
    if (i > 0) work();
    events[static_cast<size_t>(i)].record(stream);
  }
  stream.synchronize();
  double best = 1e9;
  for (size_t i = 1; i < events.size(); ++i)
    best = std::min(best, 1e-3 * events[i - 1].elapsedTime(events[i]));
  return best;
}

}  // namespace

MachineSpeed machine_speed(const ResolvedJob& job) {
  constexpr int64_t kSide = 1536, kNumbers = int64_t{1} << 25;
  constexpr int64_t kImages = 8, kChannels = 512, kPixels = 28, kKernel = 3;  // of a convolution
  const at::NoGradGuard no_grad;
  const at::Device device = device_of(job);
  const auto place = at::TensorOptions(device);
  const auto shortest = [device](const std::function<void()>& work) {
    return device.is_cpu() ? shortest_on_cpu(work) : shortest_on_gpu(device, work);
  };
  const auto numbers = place.dtype(job.amp == Precision::bf16 ? at::kBFloat16 : at::kFloat);
  const auto channels_last = numbers.memory_format(at::MemoryFormat::ChannelsLast);
  const at::Tensor a = at::ones({kSide, kSide}, numbers);
  const at::Tensor x = at::empty({kImages, kChannels, kPixels, kPixels}, channels_last).fill_(1);
  const at::Tensor w = at::empty({kChannels, kChannels, kKernel, kKernel}, channels_last).fill_(1);
  const double product = 2.0 * kSide * kSide * kSide / shortest([&] { at::matmul(a, a); });
  const double convolution =
      2.0 * static_cast<double>(x.numel() * kChannels * kKernel * kKernel) / shortest([&] {
        at::convolution(x, w, {}, {1, 1}, {kKernel / 2, kKernel / 2}, {1, 1}, false, {0, 0}, 1);
      });
  const at::Tensor from = at::ones({kNumbers}, place.dtype(at::kFloat));
  at::Tensor to = at::empty({kNumbers}, place.dtype(at::kFloat));
  return {std::max(product, convolution),
          2.0 * static_cast<double>(from.nbytes()) / shortest([&] { to.copy_(from); })};
}

}  // namespace shoal::train
