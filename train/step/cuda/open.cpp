#include "train/step/cuda/open.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "base/file/folder.h"
#include "base/process/proc.h"

namespace shoal::train {

namespace {

constexpr const char* kLibrary = "libshoal_cuda.so";
const cuda::Plugin* loaded = nullptr;
std::mutex loading;

// Whether the NVIDIA driver is loaded, on Linux or WSL.
bool has_driver() {
  std::error_code none;
  for (const char* path : {"/proc/driver/nvidia", "/dev/nvidiactl", "/dev/dxg"})
    if (std::filesystem::exists(path, none)) return true;
  return false;
}

std::string find_library(const std::string& directory) {
  namespace fs = std::filesystem;
  std::vector<fs::path> places;
  if (directory.empty()) {
    const fs::path program = program_folder();
    places = {program, program / ".." / "lib", program / ".." / "lib" / "shoal", program / ".."};
  } else {
    places = {directory};
  }
  for (const fs::path& place : places)
    if (fs::exists(place / kLibrary)) return fs::weakly_canonical(place / kLibrary);
  const std::string missing = std::string("this build has no CUDA plug-in (") + kLibrary +
                              " is not in " + places[0].string() + "): use --device cpu";
  if (!has_driver())
    throw std::runtime_error("this host has no NVIDIA GPU, or no driver for it, and " + missing);
  throw std::runtime_error(missing + ", or build it with scripts/build --cuda");
}

// Loads libnvrtc-builtins in advance, from the folder of the CUDA runtime. NVRTC, with which cuDNN
// compiles kernels, searches for this library only in the dynamic linker's folders, not in its own
// folder. PyTorch's Python package also loads the library in advance.
void load_nvrtc_builtins(void* plugin) {
  Dl_info runtime{};
  void* const any = dlsym(plugin, "cudaRuntimeGetVersion");
  if (!any || dladdr(any, &runtime) == 0) return;
  std::error_code error;  // ignored, as dlopen() errors are: cuDNN then uses other kernels
  for (const auto& entry :
       entries_of(std::filesystem::path(runtime.dli_fname).parent_path(), error))
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so"))
      dlopen(entry.path().c_str(), RTLD_LAZY | RTLD_GLOBAL);
}

const cuda::Plugin* open_library(const std::string& path) {
  // RTLD_GLOBAL: LibTorch later looks up symbols of its CUDA libraries by name.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const char* reason = dlerror();
    throw std::runtime_error(
        "the CUDA plug-in " + path + " cannot be loaded: " + (reason ? reason : "unknown reason") +
        "; install the CUDA libraries with scripts/build --cuda, or use --device cpu");
  }
  load_nvrtc_builtins(library);
  const auto entry =
      reinterpret_cast<decltype(&shoal_cuda_plugin)>(dlsym(library, "shoal_cuda_plugin"));
  const cuda::Plugin* plugin = entry ? entry(cuda::kPluginVersion) : nullptr;
  if (!plugin || plugin->version != cuda::kPluginVersion)
    throw std::runtime_error("the CUDA plug-in " + path +
                             " was built for another version of shoal; rebuild both");
  return plugin;
}

}  // namespace

const cuda::Plugin& cuda_plugin(const std::string& directory) {
  const std::lock_guard lock(loading);
  if (!loaded) {
    loaded = open_library(find_library(directory));
    ops::set_gpu(loaded->operations);
  }
  return *loaded;
}

}  // namespace shoal::train
