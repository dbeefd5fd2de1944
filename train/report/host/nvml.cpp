// The functions and structs below are declared as in NVML's documentation, so that the build does
// not need NVML's header.

#include "train/report/host/nvml.h"

#include <dlfcn.h>

#include <utility>

namespace shoal::train {
namespace {

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

struct Nvml::Library {
  using Device = void*;
  struct Rates {
    unsigned gpu, memory;  // percent
  };
  struct Memory {
    unsigned long long total, free, used;  // bytes
  };

  explicit Library(void* opened) : handle(opened) {}
  ~Library() {
    if (running) shutdown();
    ::dlclose(handle);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Returns false if the library lacks a function or a GPU is missing. NVML's functions return 0 on
  // success.
  bool start(const std::vector<std::string>& gpus) {
    if (!find(handle, "nvmlInit_v2", init) || !find(handle, "nvmlShutdown", shutdown) ||
        !find(handle, "nvmlDeviceGetHandleByPciBusId_v2", by_address) ||
        !find(handle, "nvmlDeviceGetUtilizationRates", rates) ||
        !find(handle, "nvmlDeviceGetMemoryInfo", memory))
      return false;
    running = init() == 0;
    if (!running) return false;
    for (const std::string& gpu : gpus)
      if (by_address(gpu.c_str(), &devices.emplace_back()) != 0) return false;
    return true;
  }

  void* handle;
  bool running = false;
  std::vector<Device> devices;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_address)(const char*, Device*) = nullptr;
  int (*rates)(Device, Rates*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
};

Nvml::Nvml(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Nvml::~Nvml() = default;

std::unique_ptr<Nvml> Nvml::open(const std::vector<std::string>& gpus, const std::string& library) {
  if (gpus.empty()) return nullptr;
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return nullptr;
  auto opened = std::make_unique<Library>(handle);
  if (!opened->start(gpus)) return nullptr;
  return std::unique_ptr<Nvml>(new Nvml(std::move(opened)));
}

std::optional<GpuUse> Nvml::read() const {
  GpuUse sum;
  double total = 0, used = 0;
  for (Library::Device device : library_->devices) {
    Library::Rates rates{};
    Library::Memory memory{};
    if (library_->rates(device, &rates) != 0 || library_->memory(device, &memory) != 0)
      return std::nullopt;
    sum.percent += rates.gpu;
    total += static_cast<double>(memory.total);
    used += static_cast<double>(memory.used);
  }
  sum.percent /= static_cast<double>(library_->devices.size());
  sum.memory_percent = total > 0 ? 100 * used / total : 0;
  return sum;
}

}  // namespace shoal::train
