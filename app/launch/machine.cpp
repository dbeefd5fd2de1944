#include "app/launch/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "app/platform/failure.h"
#include "base/file/descriptor.h"
#include "base/file/folder.h"
#include "base/file/whole_file.h"
#include "base/process/proc.h"
#include "base/text.h"

namespace shoal::app {
namespace {

namespace fs = std::filesystem;

// Returns the number in the first line of a file, or `otherwise` if it has none.
double number_in(const fs::path& path, double otherwise) {
  return parse_number<double>(first_line(path)).value_or(otherwise);
}

// Returns cgroup_folders() of this process.
std::vector<fs::path> own_cgroups(const std::string& controller) {
  return cgroup_folders(read_if_readable("/proc/self/cgroup").value_or(""), "/sys/fs/cgroup",
                        controller);
}

}  // namespace

int gpu_count(const dist::Variables& environment) {
  std::error_code error;
  int count = static_cast<int>(entries_of("/proc/driver/nvidia/gpus", error).size());
  if (count == 0) {
    while (fs::exists("/dev/nvidia" + std::to_string(count), error)) ++count;
  }
  return visible_gpus(count, environment);
}

int visible_gpus(int present, const dist::Variables& environment) {
  const auto visible = environment.find("CUDA_VISIBLE_DEVICES");
  if (visible == environment.end()) return present;
  // Like CUDA, counts devices up to the first invalid one, so "-1" hides all.
  int named = 0;
  const std::string& list = visible->second;
  for (size_t begin = 0; begin < list.size() && list[begin] != '-'; ++named) {
    begin = std::min(list.find(',', begin), list.size() - 1) + 1;
  }
  return std::min(present, named);
}

double processor_quota(const fs::path& cgroup) {
  double us = 0, period_us = 0;
  if (!(std::istringstream(first_line(cgroup / "cpu.max")) >> us >> period_us)) {
    us = number_in(cgroup / "cpu.cfs_quota_us", -1);
    period_us = number_in(cgroup / "cpu.cfs_period_us", 0);
  }
  return us > 0 && period_us > 0 ? us / period_us : 0;
}

std::vector<fs::path> cgroup_folders(const std::string& text, const fs::path& mount,
                                     const std::string& controller) {
  std::vector<fs::path> folders;
  std::istringstream lines("0::/\n1:" + controller + ":/\n" + text);  // adds the root cgroups
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const std::vector<std::string> controllers = split(names, ',');
    if (!names.empty() && std::ranges::find(controllers, controller) == controllers.end()) continue;
    const fs::path root = names.empty() ? mount : mount / controller;
    // A cgroup's limits also apply to the cgroups below it.
    for (fs::path path = line.substr(second + 1);; path = path.parent_path()) {
      folders.push_back(root / path.relative_path());
      if (!path.has_relative_path()) break;
    }
  }
  return folders;
}

int usable_processors() {
  int count = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) count = std::max(1, CPU_COUNT(&set));
  for (const fs::path& group : own_cgroups("cpu")) {
    const double quota = processor_quota(group);
    if (quota > 0) count = std::min(count, static_cast<int>(std::ceil(quota)));
  }
  return std::max(1, count);
}

bool bound_by_parent() {
  cpu_set_t own, parents;
  return ::sched_getaffinity(0, sizeof own, &own) == 0 &&
         ::sched_getaffinity(::getppid(), sizeof parents, &parents) == 0 &&
         CPU_COUNT(&own) < CPU_COUNT(&parents);
}

uint64_t memory_bytes() {
  struct sysinfo info {};
  uint64_t bytes = ::sysinfo(&info) == 0 ? uint64_t{info.totalram} * info.mem_unit : 0;
  for (const fs::path& group : own_cgroups("memory")) {
    for (const char* file : {"memory.max", "memory.limit_in_bytes"}) {
      const double limit = number_in(group / file, 0);
      if (limit > 0 && limit < static_cast<double>(bytes)) bytes = static_cast<uint64_t>(limit);
    }
  }
  return bytes;
}

std::optional<uint64_t> cgroup_available(const fs::path& cgroup) {
  const bool second = fs::exists(cgroup / "memory.max");
  const double limit = number_in(cgroup / (second ? "memory.max" : "memory.limit_in_bytes"), 0);
  if (limit <= 0) return std::nullopt;  // no limit
  const double used = number_in(cgroup / (second ? "memory.current" : "memory.usage_in_bytes"), 0);
  double cached = 0, value = 0;
  std::ifstream statistics(cgroup / "memory.stat");
  for (std::string key; statistics >> key >> value;)
    if (key == (second ? "inactive_file" : "total_inactive_file")) cached = value;
  return static_cast<uint64_t>(std::max(0.0, limit - used + cached));
}

uint64_t available_memory_bytes() {
  uint64_t bytes = memory_bytes();
  const double kilobytes = proc_number("/proc/meminfo", "MemAvailable");
  if (kilobytes >= 0) bytes = std::min(bytes, static_cast<uint64_t>(1024 * kilobytes));
  for (const fs::path& group : own_cgroups("memory"))
    if (const auto left = cgroup_available(group)) bytes = std::min(bytes, *left);
  return bytes;
}

fs::path worker_program() {
  return installed_program("shoal-worker");
}

fs::path installed_program(const std::string& name) {
  fs::path folder;
  try {
    folder = program_folder();
  } catch (const fs::filesystem_error&) {
    throw SetupMissing("cannot read /proc/self/exe to find " + name + "; mount /proc");
  }
  for (const fs::path& place : {folder / name, folder / "../libexec" / name}) {
    if (::access(place.c_str(), X_OK) != 0) continue;
    const fs::path program = place.lexically_normal();
    const std::vector<std::string> missing = missing_libraries(program);
    if (missing.empty()) return program;
    const size_t more = missing.size() - 1;
    throw SetupMissing(program.string() + " cannot be started: " + missing[0] +
                       (more > 0 ? " (and " + std::to_string(more) + " more)" : "") +
                       " is missing; run scripts/build --setup-only, which installs libraries");
  }
  throw SetupMissing(name + " is neither in " + folder.string() + " nor in " +
                     (folder / "../libexec").lexically_normal().string() +
                     "; build it (scripts/build) and install all programs together");
}

// With LD_TRACE_LOADED_OBJECTS set, the dynamic loader prints a program's libraries and exits.
std::vector<std::string> missing_libraries(const fs::path& program) {
  std::vector<std::string> missing;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return missing;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
    ::execl(program.c_str(), program.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string text;
  char part[4096];
  for (int64_t count; child > 0 && (count = read_some(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(count));
  ::close(ends[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t arrow = line.find(" => not found");
    if (arrow == line.npos) continue;
    const size_t name = line.find_first_not_of(" \t");
    missing.push_back(line.substr(name, arrow - name));
  }
  return missing;
}

}  // namespace shoal::app
