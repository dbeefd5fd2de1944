#pragma once
// How fast a loader is, where its threads spend their time, and what bounds it.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/loader/stage_clock.h"

namespace shoal::data {

// One measurement with one number of threads.
struct LoaderRate {
  int threads = 0;
  double seconds = 0;
  double images_per_second = 0;
  double first_batch_seconds = 0;  // from making the loader
  StageTimes stages;               // of all threads
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
  LoaderOptions loader;      // its threads are set by the profile
  std::vector<int> threads;  // empty: 1, 2, 4 … to all processors, and on while reading gains by it
  double seconds = 5;        // of each measurement, after as long a warm-up in all
  int processors = 1;
  std::function<bool()> stopped;  // asked between batches; empty: never
};

// `stopped` has said so.
struct ProfileStopped {};

// Reads epoch after epoch; nothing but the loader works meanwhile. `progress` is told the number of
// threads before each measurement, 0 for the warm-up. Throws what Loader throws, and ProfileStopped.
std::vector<LoaderRate> profile_loader(const std::shared_ptr<const Dataset>& dataset,
                                       const ProfileOptions& options,
                                       const std::function<void(int threads)>& progress,
                                       const std::function<void(const std::string&)>& warning);

enum class Bound { processors, disk };

struct Advice {
  Bound bound = Bound::processors;
  int threads = 0;       // that reach the wanted rate here; 0: none do
  std::string sentence;  // what bounds the rate, and what to do
};

// `rates` in rising order of threads, at least one. `wanted`: images/s, 0 when none is.
Advice advise(const std::vector<LoaderRate>& rates, int processors, double wanted);

}  // namespace shoal::data
