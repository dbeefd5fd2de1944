#pragma once
// Reads the utilization of NVIDIA GPUs with the driver's NVML library, which it opens at run time.
// Does not use LibTorch.

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shoal::train {

struct GpuUse {
  double percent = 0;         // share of time in which a kernel runs; mean over the GPUs
  double memory_percent = 0;  // share of all GPUs' memory that is in use
};

// Sums of readings, for computing their mean.
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
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  // `gpus`: PCI addresses of the GPUs to read. Returns null if the list is empty, or if the
  // library, the driver or a GPU is missing.
  static std::unique_ptr<Nvml> open(const std::vector<std::string>& gpus,
                                    const std::string& library = kLibrary);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Reads the GPUs. Returns nullopt if one cannot be read.
  std::optional<GpuUse> read() const;

 private:
  struct Library;
  explicit Nvml(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace shoal::train
