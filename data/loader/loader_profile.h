#pragma once
// Measures a loader's throughput, finds out where its threads spend time, and explains what limits
// the throughput.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/stage_clock.h"

namespace shoal::data {

// One measurement, with `threads` threads.
struct LoaderRate {
  int threads = 0;
  double seconds = 0;
  double images_per_second = 0;
  double first_batch_seconds = 0;  // from the construction of the loader to its first batch
  StageTimes stages;               // sum over all threads
  double cores() const { return stages.cpu_seconds / seconds; }
  double bytes_per_second() const { return static_cast<double>(stages.bytes) / seconds; }
  double cpu_seconds_per_image() const {
    return stages.cpu_seconds / static_cast<double>(stages.images);
  }
  double bytes_per_image() const {
    return static_cast<double>(stages.bytes) / static_cast<double>(stages.images);
  }
};

struct ProfileOptions {
  LoaderOptions loader;  // `threads` is overwritten
  // Numbers of threads to measure. Empty: 1, 2, 4, … up to all processors, and more while the
  // loader is disk-bound and more threads read faster.
  std::vector<int> threads;
  double seconds = 5;  // duration of each measurement, and of the warm-up before the first
  int processors = 1;
  std::function<bool()> stopped;  // polled between batches; empty: never stops
};

// Thrown when ProfileOptions::stopped returns true.
struct ProfileStopped {};

// Measures the loader: reads epoch after epoch and discards the batches. Calls `progress` with the
// number of threads before each measurement, 0 for the warm-up. Throws what Loader throws, and
// ProfileStopped.
std::vector<LoaderRate> profile_loader(const std::shared_ptr<const Dataset>& dataset,
                                       const ProfileOptions& options,
                                       const std::function<void(int threads)>& progress,
                                       const std::function<void(const std::string&)>& warning);

// What limits the rate. `batches`: the consumer takes batches more slowly than the loader's threads
// can make them.
enum class Bound { processors, disk, batches };

struct Advice {
  Bound bound = Bound::processors;
  int threads = 0;  // number of threads needed for the wanted rate; 0: no target, or unreachable
  std::string sentence;  // what limits the rate, and what to do
};

// Explains what limits the loader. `rates`: at least one measurement, by increasing number of
// threads. `processors`: number of cores. `wanted`: images/s to reach; 0: no target.
// `can_be_fast`: whether --resize fast would help.
Advice advise(const std::vector<LoaderRate>& rates, int processors, double wanted,
              bool can_be_fast = false);

}  // namespace shoal::data
