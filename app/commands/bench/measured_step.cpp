#include "app/commands/bench/measured_step.h"

#include <ATen/Parallel.h>

#include "app/commands/memory.h"
#include "app/launch/machine.h"
#include "base/log.h"
#include "models/catalogue.h"
#include "train/control/stop.h"

namespace shoal::app {
namespace {

constexpr int64_t kClasses = 1000;  // as in ImageNet

train::Surroundings surroundings(const train::Job& job, bool on_gpu) {
  constexpr int64_t kManyImages = int64_t{1} << 40;
  train::Surroundings here;
  here.train_images = here.val_images = kManyImages;
  here.classes = job.classes.value_or(kClasses);
  here.processors = usable_processors();
  here.on_gpu = on_gpu;
  models::ModelOptions model = job.model;
  model.classes = here.classes;
  model.channels = job.channels.value_or(model.channels);
  here.model = models::describe(model);
  return here;
}

}  // namespace

const char* precision_name(train::Precision precision) {
  return precision == train::Precision::bf16 ? "bf16" : "off";
}

train::ResolvedJob resolved_alone(train::Job job) {
  const train::Gpus gpus = train::claim_gpu(job, 0);
  train::Surroundings here = surroundings(job, gpus.count > 0);
  here.gpu = gpus.mine;
  dist::Communicator alone = dist::connect(dist::single_process());
  const int64_t memory = memory_share(gpus, alone);
  if (job.fit_batch_size) choose_batch_size(job, here, memory, alone);
  const train::ResolvedJob resolved = train::resolve(job, here);
  train::check_precision(resolved, gpus);
  check_memory(resolved, memory, /*leader=*/false);
  at::set_num_threads(resolved.threads);
  return resolved;
}

train::ResolvedJob resolved_elsewhere(const train::Job& job) {
  return train::resolve(job, surroundings(job, job.device == "cuda"));
}

train::StepProfile measured_steps(const train::ResolvedJob& job, const BenchOptions& bench,
                                  const std::string& trace) {
  train::StepProfileOptions options;
  options.steps = bench.steps;
  options.warmup = bench.warmup;
  options.evaluate = job.eval_only;
  options.trace = trace;
  options.stopped = [] { return train::stop_signal() != 0; };
  options.progress = log::status;
  train::StepProfile profile = train::profile_step(job, options);
  log::status("");
  return profile;
}

}  // namespace shoal::app
