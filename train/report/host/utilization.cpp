#include "train/report/host/utilization.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>

#include "base/process/proc.h"

namespace shoal::train {
namespace {

namespace fs = std::filesystem;

void add(double& sum, double value) {
  if (value >= 0) sum = std::max(sum, 0.0) + value;
}

// Adds the counters of one process, if it still exists. `folder`: its folder in /proc.
void add_process(const fs::path& folder, HostCounters& to) {
  const std::string stat = first_line(folder / "stat");
  const size_t name_end = stat.rfind(')');  // the name may contain spaces and ')'
  if (name_end == stat.npos) return;
  std::istringstream fields(stat.substr(name_end + 1));
  std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
  if (words.size() < 22) return;
  static const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  add(to.cpu_seconds, (std::stod(words[11]) + std::stod(words[12])) / ticks);  // utime, stime
  add(to.memory, std::stod(words[21]) * static_cast<double>(::sysconf(_SC_PAGESIZE)));  // rss
  add(to.disk_read, proc_number(folder / "io", "read_bytes"));
  add(to.disk_write, proc_number(folder / "io", "write_bytes"));
}

// Returns the process IDs of the run on this host: this process and its siblings (other children of
// its parent) that run the same program. `alone`: returns only this process, because siblings then
// belong to other runs.
std::vector<int> processes_of_run(const fs::path& proc, int self, bool alone) {
  if (alone) return {self};
  const auto folder = [&](int id) { return proc / std::to_string(id); };
  const auto parent = static_cast<int>(proc_number(folder(self) / "status", "PPid"));
  const fs::path tasks = folder(parent) / "task" / std::to_string(parent);
  std::istringstream children(first_line(tasks / "children"));
  std::vector<int> ids = {self};
  const std::string program = first_line(folder(self) / "comm");
  for (int id = 0; children >> id;)
    if (id != self && first_line(folder(id) / "comm") == program) ids.push_back(id);
  return ids;
}

void read_host_cpus(const fs::path& proc, HostCounters& to) {
  std::istringstream fields(first_line(proc / "stat"));
  std::string word;
  fields >> word;
  double ticks[8] = {};  // user, nice, system, idle, iowait, irq, softirq, steal
  for (double& count : ticks)
    if (!(fields >> count)) return;
  static const auto per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  to.idle_seconds = (ticks[3] + ticks[4]) / per_second;
  to.busy_seconds = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7]) / per_second;
}

void read_network(const fs::path& proc, HostCounters& to) {
  std::ifstream file(proc / "net/dev");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == line.npos || line.substr(0, colon).ends_with("lo")) continue;
    std::istringstream fields(line.substr(colon + 1));
    const std::vector<double> counts{std::istream_iterator<double>(fields), {}};
    if (counts.size() < 9) continue;
    add(to.network_in, counts[0]);
    add(to.network_out, counts[8]);
  }
}

// Returns the increase of a counter per second; -1 if it is unknown.
double rate(double before, double after, double seconds) {
  return before < 0 || after < 0 || seconds <= 0 ? -1 : std::max(0.0, after - before) / seconds;
}

double percent(double part, double whole) {
  return part < 0 || whole <= 0 ? -1 : 100 * part / whole;
}

// Reads the counters. `proc`: /proc, or a folder with copies of its files. `self`: id of this
// process in that folder. `alone`: as in UtilizationMeter.
HostCounters read_counters(const fs::path& proc, int self, bool alone) {
  HostCounters counters;
  read_host_cpus(proc, counters);
  read_network(proc, counters);
  counters.memory_total = 1024 * proc_number(proc / "meminfo", "MemTotal");
  counters.memory_available = 1024 * proc_number(proc / "meminfo", "MemAvailable");
  for (int id : processes_of_run(proc, self, alone))
    add_process(proc / std::to_string(id), counters);
  return counters;
}

}  // namespace

UtilizationMeter::UtilizationMeter(const std::vector<std::string>& gpus, bool alone, fs::path proc,
                                   const std::string& nvml)
    : proc_(std::move(proc)), alone_(alone), gpus_(Nvml::open(gpus, nvml)) {
  first_ = last_ = reported_ = read(SteadyClock::now());
}

UtilizationMeter::Reading UtilizationMeter::read(SteadyClock::time_point now) const {
  return {now, read_counters(proc_, static_cast<int>(::getpid()), alone_), last_.gpus};
}

NamedValues UtilizationMeter::between(const Reading& before, const Reading& now) {
  const double seconds = std::chrono::duration<double>(now.time - before.time).count();
  const auto each = [&](double HostCounters::*counter) {
    return rate(before.host.*counter, now.host.*counter, seconds);
  };
  const double busy = each(&HostCounters::busy_seconds), idle = each(&HostCounters::idle_seconds);
  const double available = now.host.memory_available, total = now.host.memory_total;
  const auto readings = static_cast<double>(now.gpus.readings - before.gpus.readings);
  const auto of_gpus = [&](double GpuMean::*sum) {
    return readings > 0 ? (now.gpus.*sum - before.gpus.*sum) / readings : -1;
  };
  const double megabyte = 1e-6;
  const double values[] = {
      each(&HostCounters::cpu_seconds),
      percent(busy, busy + idle),
      now.host.memory / 1e9,
      percent(available < 0 ? -1 : total - available, total),
      megabyte * each(&HostCounters::disk_read),
      megabyte * each(&HostCounters::disk_write),
      megabyte * each(&HostCounters::network_in),
      megabyte * each(&HostCounters::network_out),
      of_gpus(&GpuMean::percent),
      of_gpus(&GpuMean::memory_percent),
  };
  static_assert(std::size(values) == kUtilizationNames.size());
  NamedValues result;
  for (size_t i = 0; i < kUtilizationNames.size(); ++i)
    if (values[i] >= 0) result.emplace_back(kUtilizationNames[i], values[i]);
  return result;
}

NamedValues UtilizationMeter::take(SteadyClock::time_point now) {
  if (now - last_.time < kPeriod) return {};
  const Reading before = std::exchange(last_, read(now));
  if (const auto use = gpus_ ? gpus_->read() : std::nullopt) last_.gpus.add(*use);
  return between(before, last_);
}

NamedValues UtilizationMeter::of_readings() {
  if (last_.time == reported_.time) return {};
  return between(std::exchange(reported_, last_), last_);
}

NamedValues UtilizationMeter::of_run(SteadyClock::time_point now) const {
  return between(first_, read(now));
}

}  // namespace shoal::train
