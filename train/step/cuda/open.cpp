#include "train/step/cuda/open.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace shoal::train {

namespace {

constexpr const char* kLibrary = "libshoal_cuda.so";
const cuda::Plugin* loaded = nullptr;
std::mutex loading;

std::string find_library(const std::string& directory) {
  namespace fs = std::filesystem;
  std::vector<fs::path> places;
  if (directory.empty()) {
    const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
    places = {program, program / ".." / "lib", program / ".." / "lib" / "shoal", program / ".."};
  } else {
    places = {directory};
  }
  for (const fs::path& place : places)
    if (fs::exists(place / kLibrary)) return fs::weakly_canonical(place / kLibrary);
  throw std::runtime_error(std::string("this build has no CUDA plug-in (") + kLibrary +
                           " is not in " + places[0].string() +
                           "): use --device cpu, or build it with scripts/build --cuda");
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
