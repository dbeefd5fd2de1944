// The checks of `shoal doctor` that need LibTorch.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <chrono>

#include "app/commands/commands.h"
#include "app/launch/checks.h"
#include "app/launch/machine.h"
#include "base/format/grouped.h"
#include "base/log.h"
#include "train/step/cuda/open.h"

namespace shoal::app {
namespace {

using Checks = std::vector<Check>;
using Verdict = Check::Verdict;

Checks libtorch() {
  return {{Verdict::ok, "LibTorch", TORCH_VERSION, ""},
          {Verdict::ok, "compute kernels",
           at::get_cpu_capability() + (at::hasMKL() ? ", MKL" : "") +
               (at::hasMKLDNN() ? ", oneDNN" : ""),
           ""}};
}

Checks threads() {
  Check check{Verdict::ok, "compute threads", std::to_string(at::get_num_threads()), ""};
#ifdef _OPENMP
  check.value += " (OpenMP)";
#endif
  return {check};
}

// Warns if matrix products do not use LibTorch's own BLAS, which is faster than others. OpenBLAS
// exports sgemm_ too, and all calls go to the library that was loaded first.
Checks blas() {
  Dl_info info{};
  void* symbol = ::dlsym(RTLD_DEFAULT, "sgemm_");
  if (!symbol || ::dladdr(symbol, &info) == 0)
    return {{Verdict::ok, "BLAS", "inside LibTorch", ""}};
  const std::string library = info.dli_fname;
  Check check{Verdict::ok, "BLAS", library.substr(library.rfind('/') + 1), ""};
  if (library.find("libtorch") == library.npos) {
    check.verdict = Verdict::warn;
    check.advice =
        "LibTorch's own BLAS is faster, but another one was loaded first; check LD_PRELOAD";
  }
  return {check};
}

Checks gpus() {
  const cuda::Plugin* plugin = nullptr;
  try {
    plugin = &train::cuda_plugin();
  } catch (const std::runtime_error& error) {
    const bool needed = gpu_count(dist::environment()) > 0;
    return {
        {needed ? Verdict::bad : Verdict::ok, "CUDA plug-in",
         needed ? "cannot be used, although this host has a GPU" : "not used: this host has no GPU",
         needed ? error.what() : ""}};
  }
  char reason[512] = "";
  const int count = plugin->device_count(reason, sizeof reason);
  Checks checks = {
      {Verdict::ok, "CUDA plug-in", strf("loaded, kernels for %s", plugin->architectures), ""}};
  if (count == 0) checks.push_back({Verdict::ok, "CUDA devices", strf("none (%s)", reason), ""});
  for (int i = 0; i < count; ++i) {
    const cuda::DeviceInfo info = plugin->device_info(i);
    Check check{
        Verdict::ok, strf("CUDA device %d", i),
        strf("%s, compute capability %d.%d, %s of %s free", info.name, info.major, info.minor,
             gigabytes_text(info.free_bytes).c_str(), gigabytes_text(info.total_bytes).c_str()),
        ""};
    if (!plugin->check(i)) {
      check.verdict = Verdict::bad;
      check.advice =
          "a test kernel returned a wrong result; update the driver or do not use this device";
    } else if (info.free_bytes < 2'000'000'000) {
      check.verdict = Verdict::warn;
      check.advice = "another program uses its memory; see nvidia-smi";
    }
    checks.push_back(check);
  }
  return checks;
}

Checks nccl() {
  void* library = ::dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
  if (!library) return {{Verdict::ok, "NCCL", "not installed; needed only for several GPUs", ""}};
  const auto get_version = reinterpret_cast<int (*)(int*)>(::dlsym(library, "ncclGetVersion"));
  int version = 0;
  if (!get_version || get_version(&version) != 0) {
    return {{Verdict::warn, "NCCL", "libnccl.so.2 does not report its version",
             "reinstall it with scripts/build --cuda"}};
  }
  return {{Verdict::ok, "NCCL",
           strf("%d.%d.%d", version / 10000, version / 100 % 100, version % 100), ""}};
}

}  // namespace

int doctor_worker(const Arguments&) {
  return print_checks({libtorch, threads, blas, gpus, nccl});
}

}  // namespace shoal::app
