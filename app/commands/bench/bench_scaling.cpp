// shoal bench scaling: measures training steps of this process, and predicts the speed on several
// hosts.
#include <algorithm>

#include "app/commands/bench/bench.h"
#include "app/commands/bench/measured_step.h"
#include "app/commands/print_table.h"
#include "app/launch/machine.h"
#include "base/error.h"
#include "base/format/counted.h"
#include "base/json.h"
#include "base/log.h"
#include "base/median.h"
#include "base/text.h"
#include "dist/scaling.h"
#include "models/catalogue.h"
#include "train/control/stop.h"
#include "train/trial/step_timeline.h"

namespace shoal::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPayload = 0.95;  // share of a link's speed left after packet headers
// Processor time per byte that TCP sends or receives in packets of 1500 bytes: an estimate from
// the benchmark bench/exchange.
constexpr double kSecondsPerByte = 1e-9;
constexpr double kLocalMicroseconds = 5;                    // latency within a host
constexpr double kLocalGbps = 16, kLocalGbpsOfGpus = 2400;  // bandwidths of loopback and NVLink

struct Prediction {
  dist::Cluster cluster;
  dist::ScaledStep step;
};

struct Result {
  const ScalingOptions& options;
  train::ResolvedJob job = {};
  dist::StepTimeline alone = {};
  std::vector<Prediction> predictions = {};

  bool measured() const { return !options.step_ms; }
  bool on_gpus() const { return job.device == "cuda"; }
  // False on GPUs: the timer of a phase stops when the CPU has enqueued the work, not when the GPU
  // has done it.
  bool has_phases() const { return measured() && !on_gpus(); }
  bool sends_bf16() const { return job.gradient_compression == train::Precision::bf16; }
  double local_gbps() const {
    return options.local_gbps.value_or(on_gpus() ? kLocalGbpsOfGpus : kLocalGbps);
  }
  double images_per_second(const Prediction& p) const {
    return static_cast<double>(p.cluster.processes() * job.batch_size) / p.step.seconds;
  }
  double speedup(const Prediction& p) const {
    return static_cast<double>(p.cluster.processes()) * alone.seconds() / p.step.seconds;
  }
  double gradient_megabytes() const {  // as float32
    int64_t bytes = 0;
    for (const dist::StepTimeline::Range& range : alone.ranges) bytes += range.bytes;
    return static_cast<double>(bytes) / 1e6;
  }
};

// Checks the options that are given with --step-ms, which replaces the measurement. Throws
// UserError for options that affect only the measurement, and for --batch-size auto, because the
// time of --step-ms belongs to one batch size.
void check_given_step(const Arguments& arguments) {
  for (const char* option : {"steps", "warmup", "kernels", "optimizer", "ema"})
    if (is_on_command_line(arguments, option))
      throw UserError(std::string("--") + option +
                      " has no effect with --step-ms, which replaces the measurement; remove one");
  if (arguments.job.fit_batch_size)
    throw UserError(
        "--batch-size is auto, but --step-ms needs the batch size of the measured step; give a "
        "number");
}

dist::Cluster cluster_of(const Result& result) {
  const auto bytes = [](double gbps) { return gbps * 1e9 / 8 * kPayload; };
  dist::Cluster cluster;
  cluster.hosts = result.options.hosts;
  cluster.processes_per_host = result.options.processes;
  cluster.between_hosts = {bytes(result.options.link_gbps), 1e-6 * result.options.link_us};
  cluster.within_host = {bytes(result.local_gbps()), 1e-6 * kLocalMicroseconds};
  if (!result.on_gpus()) cluster.cpu_seconds_per_byte = kSecondsPerByte / result.job.threads;
  cluster.trees = result.on_gpus();
  cluster.bf16 = result.sends_bf16();
  return cluster;
}

// Returns predictions for one process, then for 1, 2, 4, … hosts, and last for `largest`.
std::vector<Prediction> predictions(const dist::StepTimeline& alone, const dist::Cluster& largest) {
  std::vector<Prediction> all;
  const auto add = [&](int64_t hosts, int64_t processes) {
    dist::Cluster cluster = largest;
    cluster.hosts = hosts;
    cluster.processes_per_host = processes;
    all.push_back({cluster, dist::predict_step(alone, cluster)});
  };
  add(1, 1);
  for (int64_t hosts = 1; hosts < largest.hosts; hosts *= 2)
    if (hosts * largest.processes_per_host > 1) add(hosts, largest.processes_per_host);
  if (largest.processes() > 1) add(largest.hosts, largest.processes_per_host);
  return all;
}

std::string milliseconds(double seconds) {
  return strf("%.1f ms", 1e3 * seconds);
}

void print(const Result& result) {
  const double alone = result.alone.seconds();
  log::line(strf("%s, batch %ld, %ld px, --amp %s, %s: %s per step (%s)\n",
                 result.job.model.name.c_str(), result.job.batch_size, result.job.size,
                 precision_name(result.job.amp),
                 result.on_gpus() ? "cuda" : counted(result.job.threads, "thread").c_str(),
                 milliseconds(alone).c_str(), result.measured() ? "measured" : "given"));
  std::vector<std::vector<std::string>> rows;
  for (const Prediction& p : result.predictions)
    rows.push_back({std::to_string(p.cluster.hosts), std::to_string(p.cluster.processes()),
                    milliseconds(p.step.seconds), milliseconds(p.step.exchange),
                    milliseconds(p.step.seconds - alone), strf("%.1f", result.images_per_second(p)),
                    strf("%.2f", result.speedup(p))});
  print_table({{"hosts", true},
               {"processes", true},
               {"step", true},
               {"exchange", true},
               {"exposed", true},
               {"images/s", true},
               {"speedup", true}},
              rows);
  log::line(strf(
      "\nexchange: network time of gradients (%.1f MB in float32, sent as %s) and statistics\n"
      "exposed: time that the exchange adds to a step, including its processor time\n"
      "Assumes %g Gbit/s and %g us between hosts (--link-gbps, --link-us), %g Gbit/s\n"
      "(--local-gbps) and %g us within a host, %g %% of the bandwidth for packet headers, equally\n"
      "fast processes, and no waiting for images.",
      result.gradient_megabytes(), result.sends_bf16() ? "bfloat16" : "float32",
      result.options.link_gbps, result.options.link_us, result.local_gbps(), kLocalMicroseconds,
      100 * (1 - kPayload)));
  if (!result.on_gpus())
    log::line(
        strf("Also assumes %s per process, and %g ns of processor time per byte sent or received.",
             counted(result.job.threads, "processor core").c_str(), 1e9 * kSecondsPerByte));
  if (!result.has_phases()) log::line("Also assumes that backward takes two thirds of a step.");
}

Json json_of(const Result& result) {
  Json rows = Json::array();
  for (const Prediction& p : result.predictions)
    rows.push_back({{"hosts", p.cluster.hosts},
                    {"processes", p.cluster.processes()},
                    {"step_seconds", p.step.seconds},
                    {"exchange_seconds", p.step.exchange},
                    {"exposed_seconds", p.step.seconds - result.alone.seconds()},
                    {"images_per_sec", result.images_per_second(p)},
                    {"speedup", result.speedup(p)}});
  return {{"model", result.job.model.name},
          {"batch_size", result.job.batch_size},
          {"size", result.job.size},
          {"amp", precision_name(result.job.amp)},
          {"device", result.job.device},
          {"threads", result.job.threads},
          {"step_seconds", result.alone.seconds()},
          {"backward_seconds", result.alone.backward},
          {"measured", result.measured()},
          {"gradient_megabytes", result.gradient_megabytes()},
          {"gradient_compression", precision_name(result.job.gradient_compression)},
          {"link_gbps", result.options.link_gbps},
          {"link_us", result.options.link_us},
          {"local_gbps", result.local_gbps()},
          {"predictions", rows}};
}

}  // namespace

int bench_scaling(const Arguments& arguments) {
  Result result{arguments.scaling};
  train::Job job = arguments.job;
  // Without --threads, the processes of a host share its processors.
  if (!job.threads)
    job.threads = std::max(1, usable_processors() / static_cast<int>(arguments.scaling.processes));
  double seconds = 0;
  train::StepProfile profile;
  if (result.measured()) {
    result.job = resolved_alone(job);
    profile = measured_steps(result.job, arguments.bench, "");
    if (profile.stopped) return 128 + train::stop_signal();
    seconds = median(profile.seconds);
  } else {
    check_given_step(arguments);
    result.job = resolved_elsewhere(job);
    seconds = *arguments.scaling.step_ms / 1e3;
  }
  result.alone =
      train::step_timeline(models::make_network(result.job.model), seconds,
                           result.has_phases() ? &profile.phases : nullptr, result.on_gpus());
  result.predictions = predictions(result.alone, cluster_of(result));
  if (arguments.json)
    log::line(json_of(result).dump());
  else
    print(result);
  return 0;
}

}  // namespace shoal::app
