#include "dist/scaling.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "dist/gradients/gradient_ranges.h"

namespace shoal::dist {
namespace {

struct Transfer {
  double seconds = 0;
  double bytes = 0;  // each process sends and receives this many
};

double latency_of(const Cluster& cluster) {
  return (cluster.hosts > 1 ? cluster.between_hosts : cluster.within_host).latency_seconds;
}

// All-reduce of W processes in a ring: in each of 2 (W - 1) rounds, each process sends 1/W of the
// bytes to the next one. Only one process of a host sends to another host, so a host's link carries
// the bytes of one process. Trees send the same number of bytes in fewer rounds.
Transfer all_reduce(double bytes, const Cluster& cluster) {
  const auto world = static_cast<double>(cluster.processes());
  double rate = cluster.hosts > 1 ? cluster.between_hosts.bytes_per_second : INFINITY;
  if (cluster.processes_per_host > 1) rate = std::min(rate, cluster.within_host.bytes_per_second);
  const double sent = 2 * (world - 1) * bytes / world;
  const double messages = 2 * (cluster.trees ? std::ceil(std::log2(world)) : world - 1);
  return {sent / rate + messages * latency_of(cluster), sent};
}

// An all-to-all and an all-gather of bfloat16 between W processes. In both, each process sends 1/W
// of the elements to each of the others, so a host's link carries what all its processes send to
// other hosts.
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

// Simulates the exchange of the gradients, range by range (StepTimeline::Range), and adds the
// transfers to `total`. Returns the time from the start of backward until both backward and the
// exchange have ended, in seconds.
double exchange_end(const StepTimeline& alone, const Cluster& cluster, Transfer& total) {
  double end = 0;
  for (const StepTimeline::Range& range : alone.ranges) {
    const Transfer one = all_reduce(static_cast<double>(range.bytes), cluster);
    end = std::max(end, range.ready_after) + one.seconds;
    total.seconds += one.seconds, total.bytes += one.bytes;
  }
  return std::max(end, alone.backward);
}

// Like exchange_end(), but with bfloat16, where a range takes two transfers. Backward starts the
// first when the range is ready. It waits for the first and starts the second when kRangesAhead
// further ranges are ready (gradient_ranges.h).
double exchange_end_bf16(const StepTimeline& alone, const Cluster& cluster, Transfer& total) {
  // Seconds; times count from the start of backward. For each range, `halves` has the duration of
  // one transfer, and `arrived` has the time at which the first transfer ends. Backward has reached
  // the time `now`. The network is free from the time `link_free` on.
  std::vector<double> halves, arrived;
  double now = 0, link_free = 0;
  const auto send_mean = [&](size_t range) {
    now = std::max(now, arrived[range]);
    link_free = std::max(link_free, now) + halves[range];
  };
  double ready = 0;
  for (size_t i = 0; i < alone.ranges.size(); ++i) {
    const StepTimeline::Range& range = alone.ranges[i];
    const Transfer one = average_bf16(static_cast<double>(range.bytes), cluster);
    total.seconds += one.seconds, total.bytes += one.bytes;
    now += range.ready_after - ready;
    ready = range.ready_after;
    halves.push_back(one.seconds / 2);
    link_free = std::max(link_free, now) + halves.back();
    arrived.push_back(link_free);
    if (i >= kRangesAhead) send_mean(i - kRangesAhead);
  }
  now += alone.backward - ready;
  const size_t count = alone.ranges.size();
  for (size_t i = count - std::min(count, kRangesAhead); i < count; ++i) send_mean(i);
  return std::max(now, link_free);
}

}  // namespace

ScaledStep predict_step(const StepTimeline& alone, const Cluster& cluster) {
  if (cluster.processes() == 1) return {alone.seconds(), 0};
  Transfer total;
  const double end =
      cluster.bf16 ? exchange_end_bf16(alone, cluster, total) : exchange_end(alone, cluster, total);
  Transfer last = all_reduce(static_cast<double>(alone.bytes_after_backward), cluster);
  last.seconds += all_reduce(0, cluster).seconds;  // the metrics of the step, a few bytes
  const double stolen = 2 * (total.bytes + last.bytes) * cluster.cpu_seconds_per_byte;
  ScaledStep step;
  step.exchange = total.seconds + last.seconds;
  step.seconds = alone.before_backward + std::max(alone.backward + stolen, end) + last.seconds +
                 alone.after_backward;
  return step;
}

}  // namespace shoal::dist
