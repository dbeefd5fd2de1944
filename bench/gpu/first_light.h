#pragma once
// Shared by the files of gpu_first_light.

#include <ATen/core/Tensor.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/synthetic_step.h"
#include "train/step/cuda/open.h"

namespace shoal::bench {

// Thrown if there is no usable GPU.
struct NoGpu : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Builds and prints one flat JSON object. Its member "ok" is true if every check passed.
class Report {
 public:
  explicit Report(const std::string& name) { text("check", name); }
  ~Report() {  // prints the values so far if an exception prevented print()
    if (!printed_) good_ = false, print();
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  void text(const std::string& key, const std::string& value) { raw(key, '"' + value + '"'); }
  void number(const std::string& key, double value) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.6g", value);
    raw(key, std::isfinite(value) ? digits : "null");
  }
  void check(const std::string& key, bool good) {
    raw(key, good ? "true" : "false");
    good_ &= good;
  }
  // Adds a number and checks that it is at most `limit`. NaN fails.
  void below(const std::string& key, double value, double limit) {
    number(key, value);
    good_ &= value <= limit;
  }
  bool print() {
    std::printf("{%s, \"ok\": %s}\n", members_.c_str(), good_ ? "true" : "false");
    printed_ = true;
    return good_;
  }

 private:
  void raw(const std::string& key, const std::string& value) {
    members_ += (members_.empty() ? "\"" : ", \"") + key + "\": " + value;
  }
  std::string members_;
  bool good_ = true, printed_ = false;
};

// A device. `plugin` is null for the CPU; not owned.
struct Place {
  at::Device device = at::kCPU;
  const cuda::Plugin* plugin = nullptr;
  void synchronize() const {
    if (plugin) plugin->synchronize();
  }
};

// Returns the CPU, or GPU 0 after opening the plug-in. Throws NoGpu if there is no usable GPU.
Place place(bool on_cpu);

// Turns on deterministic cuDNN and turns off TF32, so that equal steps give equal results.
void compute_exactly();

// Returns ||got - want|| / ||want|| (Euclidean norms over all elements).
double relative_difference(const at::Tensor& got, const at::Tensor& want);

// Returns options for a step on `where`. `type`: f32 or bf16; throws std::invalid_argument for
// others.
StepOptions gpu_options(const Place& where, const std::string& model, const std::string& type);

using Recorded = std::unique_ptr<cuda::Graph, void (*)(cuda::Graph*)>;

// Runs three eager steps as a warm-up, then records one step as a CUDA graph.
inline Recorded record(const cuda::Plugin& plugin, bench::SyntheticStep& step) {
  const auto enqueue = [](void* context) {
    static_cast<bench::SyntheticStep*>(context)->enqueue();
  };
  return {plugin.record(enqueue, &step, 3), plugin.destroy};
}

// Each function prints a report and returns whether all its checks passed.
bool plugin_check();
bool step_check(const Place& where, const std::string& model);
bool operations_check(const Place& where);
bool nccl_check();
bool graph_check(const std::string& model, const std::string& type);
bool trace_check(const std::string& file);
bool shared_check(const Place& where);

}  // namespace shoal::bench
