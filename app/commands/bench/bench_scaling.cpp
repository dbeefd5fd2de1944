// shoal bench scaling: measures training steps of this process, and predicts the speed on several
// hosts.
#include <algorithm>

#include "app/commands/bench/bench.h"
#include "app/commands/bench/measured_step.h"
#include "app/commands/printable_row.h"
#include "base/format/counted.h"
#include "base/json.h"
#include "base/log.h"
#include "base/median.h"
#include "dist/gradients/gradient_ranges.h"
#include "dist/gradients/gradient_reducer.h"
#include "dist/scaling.h"
#include "models/catalogue.h"
#include "train/control/stop.h"
#include "train/step/device.h"

namespace shoal::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPayload = 0.95;  // share of a link that is left after the headers of packets
// TCP takes about this much time of a processor core per byte, with packets of 1500 bytes.
constexpr double kSecondsPerByte = 1e-9;
// Without --nnodes, --link-gbps and --local-gbps.
constexpr int64_t kHosts = 8;
constexpr double kLinkGbps = 10, kLocalGbps = 16, kLocalGbpsOfGpus = 2400;
// A layer's share of backward is proportional to its multiply-adds, plus this many for each number
// of its output, which is read and written several times.
constexpr double kWorkPerOutput = 32;

double elements_of(const models::Shape& shape) {
  return static_cast<double>(shape.channels * shape.height * shape.width);
}

// Returns the ranges of gradients that GradientReducer averages. `backward`: its seconds.
std::vector<dist::StepTimeline::Range> ranges_of(const models::Network& network, double backward) {
  std::vector<double> ready(network.nodes.size());  // seconds from the start of backward
  double done = 0;
  for (size_t i = network.nodes.size(); i-- > 0;) {
    const models::Node& node = network.nodes[i];
    ready[i] = done += node.multiply_adds + kWorkPerOutput * elements_of(node.out);
  }
  for (double& time : ready) time *= backward / done;
  std::vector<dist::GradientPlace> places;
  int64_t begin = 0;
  for (const models::Parameter& parameter : network.parameters) {
    const int64_t end = begin + parameter.elements() * static_cast<int64_t>(sizeof(float));
    places.push_back({begin, end});
    begin = end;
  }
  const std::vector<size_t> nodes = models::nodes_of_parameters(network);
  std::vector<dist::StepTimeline::Range> ranges;
  size_t end = places.size();
  for (const size_t first : dist::range_starts(places, dist::ReducerOptions().range_bytes)) {
    double last_ready = 0;
    for (size_t i = first; i < end; ++i) last_ready = std::max(last_ready, ready[nodes[i]]);
    ranges.push_back({last_ready, places[end - 1].end - places[first].begin});
    end = first;
  }
  return ranges;
}

// `profile`: null if --step-ms is given. Backward takes about twice as long as forward.
dist::StepTimeline timeline_of(const train::ResolvedJob& job, double seconds,
                               const train::StepProfile* profile) {
  dist::StepTimeline step;
  step.backward = seconds * 2 / 3;
  if (profile && job.device == "cpu") {
    const train::StepSeconds& phases = profile->phases;
    const double all = phases.input + phases.forward + phases.backward + phases.update;
    step.backward = seconds * phases.backward / all;
    step.after_backward = seconds * phases.update / all;
  }
  step.before_backward = seconds - step.backward - step.after_backward;
  const models::Network network = models::make_network(job.model);
  step.ranges = ranges_of(network, step.backward);
  for (const models::Statistics& statistics : network.statistics)
    step.bytes_after_backward += 2 * statistics.channels * static_cast<int64_t>(sizeof(float));
  return step;
}

struct Prediction {
  dist::Cluster cluster;
  dist::ScaledStep step;
};

// Returns predictions for 1, 2, 4, … hosts up to --nnodes, and before them for one process.
std::vector<Prediction> predictions(const dist::StepTimeline& alone, const dist::Cluster& largest) {
  std::vector<Prediction> all;
  const auto add = [&](int64_t hosts, int64_t processes) {
    dist::Cluster cluster = largest;
    cluster.hosts = hosts;
    cluster.processes_per_host = processes;
    all.push_back({cluster, dist::predict_step(alone, cluster)});
  };
  if (largest.processes_per_host > 1 || largest.hosts == 1) add(1, 1);
  for (int64_t hosts = 1; hosts < largest.hosts; hosts *= 2) add(hosts, largest.processes_per_host);
  if (largest.processes() > 1) add(largest.hosts, largest.processes_per_host);
  return all;
}

struct Result {
  train::ResolvedJob job;
  dist::StepTimeline alone;
  bool measured = true;
  dist::Cluster largest;
  std::vector<Prediction> predictions;

  double images_per_second(const Prediction& p) const {
    return static_cast<double>(p.cluster.processes() * job.batch_size) / p.step.seconds;
  }
};

int64_t gradient_bytes(const dist::StepTimeline& step) {
  int64_t bytes = 0;
  for (const dist::StepTimeline::Range& range : step.ranges) bytes += range.bytes;
  return bytes;
}

double gbps_of(const dist::Link& link) {
  return link.bytes_per_second * 8e-9 / kPayload;
}

std::string milliseconds(double seconds) {
  return strf("%.1f ms", 1e3 * seconds);
}

void print(const Result& result) {
  const dist::StepTimeline& alone = result.alone;
  log::line(strf("%s, batch %lld, %lld px, --amp %s, %s: %s a step %s, %.1f MB of gradients\n",
                 result.job.model.name.c_str(), static_cast<long long>(result.job.batch_size),
                 static_cast<long long>(result.job.size),
                 result.job.amp == train::Precision::bf16 ? "bf16" : "off",
                 result.job.device == "cpu" ? counted(result.job.threads, "thread").c_str()
                                            : result.job.device.c_str(),
                 milliseconds(alone.seconds()).c_str(), result.measured ? "measured" : "given",
                 static_cast<double>(gradient_bytes(alone)) / 1e6));
  std::vector<std::vector<std::string>> rows;
  for (const Prediction& p : result.predictions) {
    const auto processes = static_cast<double>(p.cluster.processes());
    rows.push_back({std::to_string(p.cluster.hosts), std::to_string(p.cluster.processes()),
                    milliseconds(p.step.seconds), milliseconds(p.step.exchange),
                    milliseconds(p.step.seconds - alone.seconds()),
                    strf("%.1f", result.images_per_second(p)),
                    strf("%.2f", processes * alone.seconds() / p.step.seconds)});
  }
  print_table({{"hosts", true},
               {"processes", true},
               {"step", true},
               {"exchange", true},
               {"exposed", true},
               {"images/s", true},
               {"speedup", true}},
              rows);
  const dist::Cluster& c = result.largest;
  log::line(strf(
      "\nexchange: the network transfers gradients; exposed: what it adds to the step\n"
      "Assumes %g Gbit/s and %g us between hosts (--link-gbps, --link-us), %g Gbit/s "
      "within a host\n(--local-gbps), 5 %% of them for headers; equally fast processes, "
      "and no waiting for images.",
      gbps_of(c.between_hosts), 1e6 * c.between_hosts.latency_seconds, gbps_of(c.within_host)));
  if (c.cpu_seconds_per_byte > 0)
    log::line(strf("Sending or receiving a byte takes %g ns of a processor core.",
                   1e9 * kSecondsPerByte));
}

Json json_of(const Result& result) {
  Json rows = Json::array();
  for (const Prediction& p : result.predictions)
    rows.push_back({{"hosts", p.cluster.hosts},
                    {"processes", p.cluster.processes()},
                    {"step_seconds", p.step.seconds},
                    {"exchange_seconds", p.step.exchange},
                    {"exposed_seconds", p.step.seconds - result.alone.seconds()},
                    {"images_per_sec", result.images_per_second(p)}});
  return {{"model", result.job.model.name},
          {"batch_size", result.job.batch_size},
          {"size", result.job.size},
          {"step_seconds", result.alone.seconds()},
          {"backward_seconds", result.alone.backward},
          {"measured", result.measured},
          {"gradient_bytes", gradient_bytes(result.alone)},
          {"gradient_ranges", result.alone.ranges.size()},
          {"link_gbps", gbps_of(result.largest.between_hosts)},
          {"local_gbps", gbps_of(result.largest.within_host)},
          {"predictions", rows}};
}

int64_t processes_per_host(const Arguments& arguments) {
  if (arguments.nproc == "auto") return std::max(1, train::claim_gpu(arguments.job, 0).count);
  const auto count = parse_number<int64_t>(arguments.nproc.empty() ? "1" : arguments.nproc);
  if (!count || *count < 1)
    throw UserError("--nproc is '" + arguments.nproc + "'; it must be a number or auto");
  return *count;
}

// `gpus`: whether the processes train on GPUs.
dist::Cluster cluster_of(const Arguments& arguments, const train::ResolvedJob& job, bool gpus) {
  const ScalingOptions& scaling = arguments.scaling;
  const auto bytes = [](double gbps) { return gbps * 1e9 / 8 * kPayload; };
  dist::Cluster cluster;
  cluster.hosts = arguments.origins.contains("nnodes") ? arguments.nodes.count : kHosts;
  cluster.processes_per_host = processes_per_host(arguments);
  cluster.between_hosts = {bytes(scaling.link_gbps.value_or(kLinkGbps)), 1e-6 * scaling.link_us};
  cluster.within_host = {bytes(scaling.local_gbps.value_or(gpus ? kLocalGbpsOfGpus : kLocalGbps)),
                         1e-6 * scaling.link_us};
  if (!gpus) cluster.cpu_seconds_per_byte = kSecondsPerByte / std::max(1, job.threads);
  cluster.trees = gpus;
  cluster.bf16 = job.gradient_compression == train::Precision::bf16;
  return cluster;
}

}  // namespace

int bench_scaling(const Arguments& arguments) {
  Result result;
  result.measured = !arguments.scaling.step_ms;
  train::Job job = arguments.job;
  if (!result.measured) job.device = "cpu";  // with --step-ms, the GPUs may be elsewhere
  result.job = resolved_alone(job);
  if (!result.measured && arguments.job.device == "cuda") result.job.device = "cuda";
  if (result.measured) {
    const train::StepProfile profile = measured_steps(result.job, arguments.bench, "");
    if (profile.stopped) return 128 + train::stop_signal();
    result.alone = timeline_of(result.job, median(profile.seconds), &profile);
  } else {
    result.alone = timeline_of(result.job, *arguments.scaling.step_ms / 1e3, nullptr);
  }
  result.largest = cluster_of(arguments, result.job, result.job.device == "cuda");
  result.predictions = predictions(result.alone, result.largest);
  if (arguments.json)
    log::line(json_of(result).dump());
  else
    print(result);
  return 0;
}

}  // namespace shoal::app
