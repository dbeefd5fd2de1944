#pragma once
// Utilization of the host's NVIDIA GPUs, read with the driver's library NVML, which is opened at
// run time. Does not use LibTorch.

#include <memory>
#include <optional>
#include <string>

namespace shoal::train {

struct GpuUse {
  double percent = 0;         // share of the time in which a kernel runs; mean over the GPUs
  double memory_percent = 0;  // used share of the memory of all GPUs
};

// Sums up readings, so that their mean can be computed.
struct GpuMean {
  void add(const GpuUse& use) {
    percent += use.percent, memory_percent += use.memory_percent;
    ++readings;
  }
  double percent = 0, memory_percent = 0;  // sums
  int64_t readings = 0;
};

class Nvml {
 public:
  // Returns null if there is no such library, no driver or no GPU.
  static std::unique_ptr<Nvml> open(const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Reads all GPUs. Returns nothing if reading one fails.
  std::optional<GpuUse> read() const;

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace shoal::train
