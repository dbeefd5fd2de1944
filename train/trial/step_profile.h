#pragma once
// Measures training steps or evaluation batches on synthetic images, for `shoal bench step` and
// `scaling`. Uses Trainer, but no loader.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "train/job/job.h"
#include "train/step/trainer.h"

namespace shoal::train {

struct StepProfileOptions {
  int64_t warmup = 3;             // steps before the measurement
  int64_t steps = 10;             // measured steps
  bool evaluate = false;          // evaluates batches instead of training
  std::string trace;              // file for a trace of one more step (Perfetto); empty: none
  std::function<bool()> stopped;  // polled between steps; empty: never stops
  std::function<void(const std::string&)> progress;  // required; gets "warming up", "measuring"
};

struct StepProfile {
  std::vector<double> seconds;  // of each measured step
  StepSeconds phases;           // sums over the measured steps; evaluation: only `forward`
  double loss = 0;              // mean loss of the last batch
  int64_t own_bytes = 0;        // memory of this process before the network is created
  int64_t peak_bytes = 0;       // peak memory of this process
  int64_t peak_gpu_bytes = 0;   // peak GPU memory; 0 without a GPU
  int64_t page_faults = 0;      // minor page faults (without I/O) during the measured steps
  bool stopped = false;  // StepProfileOptions::stopped returned true; other fields are incomplete
};

// Runs the steps in this process alone. Throws std::runtime_error if the trace cannot be written.
StepProfile profile_step(const ResolvedJob& job, const StepProfileOptions& options);

// Lower limits for the work of one step.
struct StepWork {
  double operations = 0;  // additions and multiplications
  double bytes = 0;       // read from and written to memory; 0 (unknown) without the fused kernels
};
StepWork step_work(const ResolvedJob& job, bool evaluate);

// Speed of this machine with job.threads threads, or of the GPU.
struct MachineSpeed {
  // Speed of a product of large matrices or of a large convolution, whichever is faster, in the
  // step's precision.
  double operations_per_second = 0;
  double bytes_per_second = 0;  // copying a large array: bytes read plus bytes written
};
// Measures for about two seconds.
MachineSpeed machine_speed(const ResolvedJob& job);

}  // namespace shoal::train
