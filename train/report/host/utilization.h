#pragma once
// Measures how much of rank 0's host a run uses, with /proc and NVIDIA's driver. Does not use
// LibTorch.
//
// CPU, disk and network values are means over the time since the previous report. Memory values are
// current. GPU values, including GPU memory, are means of periodic readings. If the run has several
// processes on this host, they are this one and its siblings: processes of the same program that
// have the same parent.

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "train/report/host/nvml.h"
#include "train/report/report.h"

namespace shoal::train {

// Names of the values in history.jsonl, metric lines and TensorBoard. Values that the system does
// not provide are absent.
inline constexpr std::array kUtilizationNames = {
    "cpu_cores",           // cores that the processes of the run use
    "cpu_percent",         // share of the host's cores that is busy, with any program
    "memory_gb",           // resident memory of the processes of the run
    "memory_percent",      // share of the host's memory that is in use, by any program
    "disk_read_mb_s",      // by the processes of the run, not from the page cache
    "disk_write_mb_s",     // by the processes of the run
    "network_in_mb_s",     // of the host, without loopback
    "network_out_mb_s",    // of the host, without loopback
    "gpu_percent",         // share of time a GPU computes; mean over the run's GPUs on the host
    "gpu_memory_percent",  // share of these GPUs' memory that is in use
};

using SteadyClock = std::chrono::steady_clock;

// Counters since the start of the host or of a process, and current memory values. Negative:
// unknown.
struct HostCounters {
  double cpu_seconds = -1;                          // of the processes of the run
  double busy_seconds = -1, idle_seconds = -1;      // of the host's cores
  double disk_read = -1, disk_write = -1;           // bytes, of the processes of the run
  double network_in = -1, network_out = -1;         // bytes, of the host
  double memory = -1;                               // bytes, of the processes of the run
  double memory_total = -1, memory_available = -1;  // bytes, of the host
};

class UtilizationMeter {
 public:
  static constexpr std::chrono::seconds kPeriod{10};

  // `gpus`: PCI addresses of the GPUs that the run uses on this host. `alone`: whether the run has
  // no other process on this host.
  UtilizationMeter(const std::vector<std::string>& gpus, bool alone,
                   std::filesystem::path proc = "/proc");

  // Reads the GPUs if the last reading is at least kPeriod old. Call it often.
  void poll(SteadyClock::time_point now);
  // Returns the utilization since the last call that returned values (or since construction), in
  // the order of kUtilizationNames. Returns an empty list if that was less than kPeriod ago.
  NamedValues take(SteadyClock::time_point now);
  // Returns the utilization since construction.
  NamedValues of_run(SteadyClock::time_point now) const;

 private:
  struct Reading {
    SteadyClock::time_point time;
    HostCounters host;
  };
  Reading read(SteadyClock::time_point now) const;

  std::filesystem::path proc_;
  bool alone_;
  std::unique_ptr<Nvml> gpus_;  // null: none
  Reading first_, last_;
  SteadyClock::time_point polled_;
  GpuMean recent_, all_;  // readings since last_; since first_
};

}  // namespace shoal::train
