#include "dist/scaling.h"

#include <algorithm>
#include <cmath>

namespace shoal::dist {
namespace {

struct Transfer {
  double seconds = 0;
  double bytes = 0;  // that each process sends; it receives the same number
};

double latency_of(const Cluster& cluster) {
  return (cluster.hosts > 1 ? cluster.between_hosts : cluster.within_host).latency_seconds;
}

// A ring: in each of 2 (W - 1) rounds, each process sends 1/W of the bytes to the next one. Each
// host sends over its link what one of its processes sends. Trees send as many bytes.
Transfer all_reduce(double bytes, const Cluster& cluster) {
  const auto world = static_cast<double>(cluster.processes());
  double rate = cluster.hosts > 1 ? cluster.between_hosts.bytes_per_second : INFINITY;
  if (cluster.processes_per_host > 1) rate = std::min(rate, cluster.within_host.bytes_per_second);
  const double sent = 2 * (world - 1) * bytes / world;
  const double messages = 2 * (cluster.trees ? std::ceil(std::log2(world)) : world - 1);
  return {sent / rate + messages * latency_of(cluster), sent};
}

// An all-to-all and an all-gather of bfloat16. In each, each process sends 1/W of the numbers to
// every other one, so a host's link carries what all its processes send to other hosts.
Transfer average_bf16(double bytes, const Cluster& cluster) {
  const auto world = static_cast<double>(cluster.processes());
  const auto local = static_cast<double>(cluster.processes_per_host);
  const double piece = bytes / 2 / world;
  const double to_hosts = local * (world - local) * piece;
  const double within = (local - 1) * piece;
  Transfer both;
  both.bytes = 2 * (world - 1) * piece;
  both.seconds = 2 * within / cluster.within_host.bytes_per_second;
  if (cluster.hosts > 1)
    both.seconds = std::max(both.seconds, 2 * to_hosts / cluster.between_hosts.bytes_per_second);
  both.seconds += 2 * latency_of(cluster);
  return both;
}

}  // namespace

ScaledStep predict_step(const StepTimeline& alone, const Cluster& cluster) {
  if (cluster.processes() == 1) return {alone.seconds(), 0};
  ScaledStep step;
  double end = 0, sent = 0;  // of the exchange: end since the start of backward, and bytes
  for (const StepTimeline::Range& range : alone.ranges) {
    const auto bytes = static_cast<double>(range.bytes);
    const Transfer one = cluster.bf16 ? average_bf16(bytes, cluster) : all_reduce(bytes, cluster);
    end = std::max(end, range.ready_after) + one.seconds;
    step.exchange += one.seconds;
    sent += one.bytes;
  }
  Transfer last = all_reduce(static_cast<double>(alone.bytes_after_backward), cluster);
  last.seconds += all_reduce(0, cluster).seconds;  // the metrics of the step, a few bytes
  step.exchange += last.seconds;
  const double stolen = 2 * (sent + last.bytes) * cluster.cpu_seconds_per_byte;
  step.seconds = alone.before_backward + std::max(alone.backward + stolen, end) + last.seconds +
                 alone.after_backward;
  return step;
}

}  // namespace shoal::dist
