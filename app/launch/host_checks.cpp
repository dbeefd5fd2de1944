// The checks of `shoal doctor` that do not need LibTorch.
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <latch>
#include <system_error>
#include <thread>

#include "app/launch/checks.h"
#include "app/launch/fabric.h"
#include "app/launch/machine.h"
#include "app/launch/plan.h"
#include "base/file/whole_file.h"
#include "base/format/counted.h"
#include "base/format/grouped.h"
#include "base/process/proc.h"
#include "base/processor.h"
#include "base/text.h"
#include "dist/env/network.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;
using Verdict = Check::Verdict;
using Checks = std::vector<Check>;

Checks processor(int processes) {
  Check model{Verdict::ok, "processor", proc_value("/proc/cpuinfo", "model name"), ""};
  if (model.value.empty()) model.value = "unknown model";
  Check features{Verdict::ok, "instruction sets", "", ""};
#if defined(__x86_64__)
  const auto add = [&](bool has, const char* name) {
    if (has) features.value += std::string(features.value.empty() ? "" : " ") + name;
  };
  const Processor& found = shoal::processor();
  add(found.avx2, "AVX2");
  add(found.avx512, "AVX-512");
  add(found.avx512_bf16, "AVX-512-BF16");
  add(proc_value("/proc/cpuinfo", "flags").find(" amx_bf16 ") != std::string::npos, "AMX-BF16");
  if (!found.avx2) {
    features.verdict = Verdict::warn;
    features.advice = "training is slow without AVX2, FMA, BMI1 and BMI2; use another machine";
  }
#endif
  if (features.value.empty()) features.value = "baseline";
  const int usable = usable_processors();
  Check count{
      Verdict::ok, "processors",
      std::to_string(usable) + " usable of " + std::to_string(std::thread::hardware_concurrency()),
      ""};
  if (processes > usable) {
    count.verdict = Verdict::warn;
    count.advice = counted(processes, "process") + " would share " + counted(usable, "processor") +
                   "; use at most --nproc " + std::to_string(usable);
  } else if (usable == 1) {
    count.verdict = Verdict::warn;
    count.advice = "data loading and computation share one processor; allow at least two";
  }
  return {model, features, count};
}

Checks memory() {
  const uint64_t free = available_memory_bytes();
  Check ram{Verdict::ok, "memory",
            gigabytes_text(memory_bytes()) + ", " + gigabytes_text(free) + " free", ""};
  if (gigabytes(free) < 2) {
    ram.verdict = gigabytes(free) < 0.5 ? Verdict::bad : Verdict::warn;
    ram.advice = "close other programs or lower --batch-size";
  }
  Check shm{Verdict::ok, "/dev/shm", "", ""};
  struct statvfs info {};
  if (::statvfs("/dev/shm", &info) != 0) {
    shm = {Verdict::warn, "/dev/shm", "does not exist", "NCCL needs it: mount a tmpfs there"};
  } else {
    const uint64_t size = info.f_blocks * info.f_frsize;
    shm.value = gigabytes_text(size);
    if (gigabytes(size) < 0.9) {  // containers have 67 MB by default
      shm.verdict = Verdict::warn;
      shm.advice = "NCCL may need more for several GPUs: start the container with --shm-size=1g";
    }
  }
  return {ram, shm};
}

// Checks a limit of this process. A run would fail with a limit below `least` and may fail below
// `enough`, both in `unit_name`. `unit`: size of `unit_name`, for example 1e9 for " GB".
Check limit(const std::string& name, __rlimit_resource resource, double unit, const char* unit_name,
            double least, double enough, const char* remedy) {
  rlimit found{};
  ::getrlimit(resource, &found);
  Check check{Verdict::ok, name, "unlimited", ""};
  if (found.rlim_cur == RLIM_INFINITY) return check;
  const double value = static_cast<double>(found.rlim_cur) / unit;
  check.value = strf("%.*f%s", *unit_name ? 1 : 0, value, unit_name);
  if (value < enough) {
    check.verdict = value < least ? Verdict::bad : Verdict::warn;
    check.advice = std::string("raise the limit: ") + remedy;
  }
  return check;
}

// Starts up to `wanted` threads, ends them, and returns how many could be started. The ulimit does
// not give this number: it covers all processes of the user, does not apply to root, and does not
// include the limit of a container.
int startable_threads(int wanted) {
  std::latch end(1);
  std::vector<std::thread> threads;
  try {
    while (static_cast<int>(threads.size()) < wanted) threads.emplace_back([&] { end.wait(); });
  } catch (const std::system_error&) {
    // no more threads can be started
  }
  end.count_down();
  for (std::thread& thread : threads) thread.join();
  return static_cast<int>(threads.size());
}

Checks network() {
  std::string list;
  bool others = false, loopback = false;
  for (const dist::Interface& interface : dist::interfaces()) {
    if (!interface.up || interface.address.starts_with("fe80")) continue;  // link-local
    (interface.loopback ? loopback : others) = true;
    list += (list.empty() ? "" : ", ") + interface.name + " " + interface.address;
  }
  Check check{Verdict::ok, "network", list.empty() ? "no interface is up" : list, ""};
  if (!loopback) {
    check.verdict = Verdict::bad;
    check.advice = "processes on one host connect over loopback; enable it: ip link set lo up";
  } else if (!others) {
    check.verdict = Verdict::warn;
    check.advice = "training on several hosts needs an interface other than loopback";
  }
  return {check};
}

// Checks that the folder is writable, or its nearest existing ancestor if it does not exist yet.
// `option`: the option that chooses the folder.
Check writable(const std::string& name, const fs::path& folder, const char* option) {
  const fs::path place = existing_parent(folder);
  std::error_code error;
  Check check{Verdict::ok, name, folder.string(), ""};
  if (!fs::is_directory(place, error)) {
    return {Verdict::bad, name, place.string() + " is not a folder",
            std::string("choose another folder with ") + option};
  }
  if (!can_create_in(place)) {
    return {Verdict::bad, name, place.string() + " is not writable",
            std::string("choose another folder with ") + option};
  }
  const fs::space_info space = fs::space(place, error);
  if (!error) {
    check.value += ", " + gigabytes_text(space.available) + " free";
    if (gigabytes(space.available) < 1) {
      check.verdict = Verdict::warn;
      check.advice = "a checkpoint takes 60 MB (EfficientNet-B0) to 1 GB (-B7); free disk space";
    }
  }
  return check;
}

Checks directories(const train::Job& job) {
  Checks checks = {
      writable("output folder", job.output, "--output"),
      writable("checkpoint folder", train::checkpoint_directory(job), "--checkpoint-dir")};
  const std::string cache = train::cache_folder(job);
  if (cache.empty()) return checks;
  checks.push_back(writable("cache folder", cache, job.cache_dir ? "--cache-dir" : "--output"));
  if (checks.back().verdict == Verdict::bad)
    checks.back().verdict = Verdict::warn;  // the run works without a cache
  return checks;
}

Checks gpus(const dist::Variables& environment) {
  const int count = gpu_count(environment);
  const std::string driver = first_line("/proc/driver/nvidia/version");
  if (count == 0) return {{Verdict::ok, "GPUs", "none; training runs on the CPU", ""}};
  Check gpu{Verdict::ok, "GPUs", std::to_string(count), ""};
  Check version{Verdict::ok, "GPU driver", driver, ""};
  if (driver.empty()) {
    version = {Verdict::warn, "GPU driver", "not visible",
               "if this is a container, start it with the NVIDIA runtime (--gpus all)"};
  }
  return {gpu, version};
}

Checks worker() {
  return {{Verdict::ok, "worker", worker_program().string(), ""}};
}

}  // namespace

Checks memory_checks() {
  return memory();
}

int threads_needed(const train::Job& job, int workers) {
  constexpr int kOthers = 12;  // other threads of each worker, most of them Gloo's
  const int computing = job.threads.value_or(std::max(1, usable_processors() / workers));
  const int loading = job.workers.value_or(computing);
  return workers * (kOthers + computing + loading);
}

Checks limit_checks(int threads) {
  const int startable = startable_threads(threads);
  Check processes{Verdict::ok, "processes and threads",
                  std::to_string(startable) + " of " + std::to_string(threads) + " can be started",
                  ""};
  if (startable < threads) {
    processes.verdict = Verdict::bad;
    processes.advice =
        "raise the limit, which counts all processes and threads of this user: ulimit -u 4096 (in "
        "a container: --pids-limit)";
  }
  return {limit("open files", RLIMIT_NOFILE, 1, "", 256, 1024, "ulimit -n 4096"),
          limit("address space", RLIMIT_AS, 1e9, " GB", 2, 16, "ulimit -v unlimited"),
          limit("file size", RLIMIT_FSIZE, 1e6, " MB", 16, 2048, "ulimit -f unlimited"), processes};
}

std::vector<std::function<Checks()>> host_checks(const train::Job& job, int processes,
                                                 const dist::Variables& environment) {
  return {[=] { return processor(processes); },
          memory,
          [&job, processes] { return limit_checks(threads_needed(job, processes)); },
          network,
          [&job, &environment] { return directories(job); },
          [&environment] { return gpus(environment); },
          [&environment] { return Checks{fabric_check(find_fabric("/", environment))}; },
          worker};
}

}  // namespace shoal::app
