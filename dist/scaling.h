#pragma once
// Predicts how long a training step takes on several hosts, from the step of a single process.

#include <cstdint>
#include <vector>

namespace shoal::dist {

// All values are for one direction of a connection; both directions are used at the same time.
struct Link {
  double bytes_per_second = 0;
  double latency_seconds = 0;  // from the start of a small message to its arrival
};

// Each host has the same number of processes. The processes of a host share its link to the other
// hosts.
struct Cluster {
  int64_t hosts = 1, processes_per_host = 1;
  Link between_hosts, within_host;
  // Seconds by which sending or receiving one byte delays the computation of a process; 0: no
  // delay.
  double cpu_seconds_per_byte = 0;
  bool bf16 = false;  // gradients are exchanged as bfloat16 (bf16_average.h)
  // Number of rounds of an all-reduce. true: 2 log2(processes), as with NCCL. false:
  // 2 (processes - 1), as with Gloo.
  bool trees = false;

  int64_t processes() const { return hosts * processes_per_host; }
};

// A training step of a process that trains alone. Times are in seconds.
struct StepTimeline {
  struct Range {             // gradients that are averaged together
    double ready_after = 0;  // since the start of backward
    int64_t bytes = 0;       // size of the gradients in float32
  };
  double before_backward = 0, backward = 0, after_backward = 0;
  std::vector<Range> ranges;         // in the order in which they are averaged
  int64_t bytes_after_backward = 0;  // batch norm statistics, averaged after the gradients

  double seconds() const { return before_backward + backward + after_backward; }
};

struct ScaledStep {
  double seconds = 0;   // of the step
  double exchange = 0;  // time in which the network transfers gradients and statistics
};

// Predicts the step of `alone` on the cluster. Assumes that all processes are equally fast and have
// the batch size of `alone`.
ScaledStep predict_step(const StepTimeline& alone, const Cluster& cluster);

}  // namespace shoal::dist
