#pragma once
// Measures how much of rank 0's host a run uses, with /proc and NVIDIA's driver. Does not use
// LibTorch.
//
// CPU, disk and network values are means over a period. Memory values are those at its end. GPU
// values, including GPU memory, are means of periodic readings. Finds the run's other processes on
// this host by their parent and program, which are the same as this process's.

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
    "cpu_percent",         // busy share of the host's cores, counting all programs
    "memory_gb",           // resident memory of the processes of the run
    "memory_percent",      // share of the host's memory that is in use, by any program
    "disk_read_mb_s",      // read from disk, not the page cache, by the processes of the run
    "disk_write_mb_s",     // written by the processes of the run
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
  // no other process on this host. `nvml`: the driver's library.
  UtilizationMeter(const std::vector<std::string>& gpus, bool alone,
                   std::filesystem::path proc = "/proc", const std::string& nvml = Nvml::kLibrary);

  // Reads the counters and the GPUs if the last reading is at least kPeriod old, and returns the
  // utilization since then, in the order of kUtilizationNames. Otherwise returns an empty list.
  // Call it often.
  NamedValues take(SteadyClock::time_point now);
  // Returns the utilization over the readings of take() since the previous call of this function.
  // Returns an empty list if there were none.
  NamedValues of_readings();
  // Returns the utilization since construction.
  NamedValues of_run(SteadyClock::time_point now) const;

 private:
  struct Reading {
    SteadyClock::time_point time;
    HostCounters host;
    GpuMean gpus;  // of all readings so far
  };
  Reading read(SteadyClock::time_point now) const;
  // Returns the known values of a period with their names.
  static NamedValues between(const Reading& before, const Reading& now);

  std::filesystem::path proc_;
  bool alone_;
  std::unique_ptr<Nvml> gpus_;  // null if GPU values are not available
  Reading first_, last_;
  Reading reported_;  // copy of last_, made by the last call of of_readings()
};

}  // namespace shoal::train
