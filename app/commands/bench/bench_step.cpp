// shoal bench step: measures training steps on synthetic images, and compares them with the speed
// of the machine.
#include <algorithm>

#include "app/commands/bench/bench.h"
#include "app/commands/bench/measured_step.h"
#include "base/file/writable.h"
#include "base/format/counted.h"
#include "base/format/grouped.h"
#include "base/json.h"
#include "base/log.h"
#include "base/median.h"
#include "train/control/stop.h"
#include "train/step/kernels_name.h"
#include "train/step/memory_need.h"
#include "train/trial/step_profile.h"

namespace shoal::app {
namespace {

using Json = nlohmann::ordered_json;

struct Measured {
  train::ResolvedJob job;
  train::StepProfile profile;
  train::StepWork work;
  train::MachineSpeed machine;

  double step_seconds() const { return median(profile.seconds); }
  double images_per_second(double seconds) const {
    return static_cast<double>(job.batch_size) / seconds;
  }
  double operations_per_second() const { return work.operations / step_seconds(); }
  double bytes_per_second() const { return work.bytes / step_seconds(); }
};

std::vector<std::pair<const char*, double>> phases_of(const train::StepSeconds& seconds) {
  return {{"input", seconds.input},
          {"forward", seconds.forward},
          {"backward", seconds.backward},
          {"update", seconds.update}};
}

Json json_of(const Measured& m) {
  const auto steps = static_cast<double>(m.profile.seconds.size());
  const auto [fastest, slowest] = std::ranges::minmax(m.profile.seconds);
  Json phases;
  for (const auto& [name, seconds] : phases_of(m.profile.phases))
    if (seconds > 0) phases[name] = seconds / steps;
  Json json = {{"model", m.job.model.name},
               {"mode", m.job.eval_only ? "eval" : "train"},
               {"batch_size", m.job.batch_size},
               {"size", m.job.eval_only ? m.job.val_size : m.job.size},
               {"amp", precision_name(m.job.amp)},
               {"device", m.job.device},
               {"kernels", kernels_of(m.job)},
               {"threads", m.job.threads},
               {"images_per_sec", m.images_per_second(m.step_seconds())},
               {"images_per_sec_min", m.images_per_second(slowest)},
               {"images_per_sec_max", m.images_per_second(fastest)},
               {"step_seconds", m.profile.seconds},
               {"phase_seconds", phases},
               {"loss", m.profile.loss},
               {"peak_bytes", m.profile.peak_bytes},
               {"own_bytes", m.profile.own_bytes},
               {"computed_bytes", train::memory_need(m.job).compute()},
               {"page_faults_per_step", static_cast<double>(m.profile.page_faults) / steps},
               {"operations_per_sec", m.operations_per_second()},
               {"machine_operations_per_sec", m.machine.operations_per_second},
               {"machine_bytes_per_sec", m.machine.bytes_per_second}};
  if (m.profile.peak_gpu_bytes > 0) json["peak_gpu_bytes"] = m.profile.peak_gpu_bytes;
  if (m.work.bytes > 0) json["bytes_per_sec"] = m.bytes_per_second();
  return json;
}

void print(const Measured& m) {
  const auto [fastest, slowest] = std::ranges::minmax(m.profile.seconds);
  log::line(strf("%s, %s, batch %ld, %ld px, --amp %s, %s, %s: %s\n", m.job.model.name.c_str(),
                 m.job.eval_only ? "evaluation" : "training", m.job.batch_size,
                 m.job.eval_only ? m.job.val_size : m.job.size, precision_name(m.job.amp),
                 counted(m.job.threads, "thread").c_str(), m.job.device.c_str(),
                 kernels_of(m.job).c_str()));
  log::line(strf("images/s  %10.1f   (%.1f to %.1f; %.1f ms a step)",
                 m.images_per_second(m.step_seconds()), m.images_per_second(slowest),
                 m.images_per_second(fastest), 1e3 * m.step_seconds()));
  const std::string own = gigabytes_text(m.profile.own_bytes);
  const std::string predicted = gigabytes_text(train::memory_need(m.job).compute());
  log::line(strf("memory    %10s   peak (%s before the step; predicted for the step: %s)",
                 gigabytes_text(m.profile.peak_bytes).c_str(), own.c_str(), predicted.c_str()));
  if (m.profile.peak_gpu_bytes > 0)
    log::line(strf("GPU       %10s", gigabytes_text(m.profile.peak_gpu_bytes).c_str()));
  const auto& phases = m.profile.phases;
  const double all = phases.sum();
  for (const auto& [name, seconds] : phases_of(phases))
    if (seconds > 0 && seconds < all)
      log::line(strf("%-9s %7.1f ms   %4.1f %%", name,
                     1e3 * seconds / static_cast<double>(m.profile.seconds.size()),
                     100 * seconds / all));
  log::line(strf("\narithmetic %7.1f GFLOP/s, %.0f %% of the machine's %.1f GFLOP/s",
                 m.operations_per_second() / 1e9,
                 100 * m.operations_per_second() / m.machine.operations_per_second,
                 m.machine.operations_per_second / 1e9));
  if (m.work.bytes > 0)
    log::line(strf("bandwidth  %7.1f GB/s at least, %.0f %% of the machine's %.1f GB/s",
                   m.bytes_per_second() / 1e9,
                   100 * m.bytes_per_second() / m.machine.bytes_per_second,
                   m.machine.bytes_per_second / 1e9));
}

}  // namespace

int bench_step(const Arguments& arguments) {
  Measured measured;
  if (!arguments.bench.trace.empty()) require_writable_file("--trace", arguments.bench.trace);
  train::Job job = arguments.job;
  job.eval_only = arguments.bench.eval;
  measured.job = resolved_alone(job);
  const std::string& trace = arguments.bench.trace;
  measured.profile = measured_steps(measured.job, arguments.bench, trace);
  if (measured.profile.stopped) return 128 + train::stop_signal();
  measured.work = train::step_work(measured.job, measured.job.eval_only);
  measured.machine = train::machine_speed(measured.job);
  if (arguments.json)
    log::line(json_of(measured).dump());
  else
    print(measured);
  if (!trace.empty()) log::info("trace: " + trace + "; open it in ui.perfetto.dev");
  return 0;
}

}  // namespace shoal::app
