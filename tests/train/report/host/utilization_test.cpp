#include "train/report/host/utilization.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>

#include "tests/support/files.h"
#include "tests/support/temporary_directory.h"
#include "train/report/sinks.h"

using namespace shoal;
using namespace shoal::train;
using test::write_text;
namespace fs = std::filesystem;

namespace {

// Writes the /proc files of process `id`, a child of process 5. `ticks`: CPU time in user mode, and
// the same again in kernel mode.
void write_process(const fs::path& proc, int id, const std::string& name, long ticks, long pages,
                   long read_bytes) {
  const fs::path folder = proc / std::to_string(id);
  const std::string count = std::to_string(ticks);
  write_text(folder / "stat", std::to_string(id) + " (" + name + " )x) S 5 1 1 0 -1 0 0 0 0 0 " +
                                  count + " " + count + " 0 0 20 0 9 0 100 4096 " +
                                  std::to_string(pages) + " 0 0\n");
  write_text(folder / "comm", name + "\n");
  write_text(folder / "status", "Name:\tx\nPPid:\t5\nUid:\t0\n");
  write_text(folder / "io",
             "rchar: 9\nread_bytes: " + std::to_string(read_bytes) + "\nwrite_bytes: 0\n");
}

// Writes a folder like /proc in which all counters are proportional to `factor`.
void write_proc(const fs::path& proc, long factor) {
  const std::string n = std::to_string(factor * 1000);
  write_text(proc / "stat", "cpu  " + n + " 0 " + n + " " + n + " " + n + " 0 0 0 0 0\ncpu0 1\n");
  write_text(proc / "meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  750 kB\n");
  write_text(proc / "net/dev",
             "Inter-| Receive\n face |bytes\n    lo: 99 0 0 0 0 0 0 0 99 0\n  eth0: " +
                 std::to_string(factor * 20'000'000) + " 0 0 0 0 0 0 0 " +
                 std::to_string(factor * 10'000'000) + " 0 0\n");
  const int self = ::getpid();
  write_text(proc / "5/task/5/children", std::to_string(self) + " 77 78 79\n");
  write_process(proc, self, "worker", factor * 1000, 3, factor * 1'000'000);
  write_process(proc, 77, "worker", factor * 500, 4, factor * 3'000'000);
  write_process(proc, 78, "shell", factor * 9999, 999, factor * 9'000'000);
}

std::map<std::string, double> as_map(const NamedValues& values) {
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE(
    "the utilization is the increase of the counters of the run's processes and of the host") {
  const test::TemporaryDirectory folder;
  const fs::path& proc = folder.path();
  write_proc(proc, 1);
  UtilizationMeter meter(/*gpus=*/{}, /*alone=*/false, proc);
  const auto start = SteadyClock::now();
  write_proc(proc, 2);
  CHECK(meter.take(start + std::chrono::seconds(9)).empty());
  auto values = as_map(meter.take(start + std::chrono::seconds(10)));
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  CHECK(values.at("cpu_cores") == Approx(3000 / ticks / 10).epsilon(0.01));  // without process 78
  CHECK(values.at("cpu_percent") == Approx(50));
  CHECK(values.at("memory_gb") == Approx(7 * page / 1e9));
  CHECK(values.at("memory_percent") == Approx(25));
  CHECK(values.at("disk_read_mb_s") == Approx(0.4).epsilon(0.01));
  CHECK(values.at("disk_write_mb_s") == 0);
  CHECK(values.at("network_in_mb_s") == Approx(2).epsilon(0.01));  // without lo
  CHECK(values.at("network_out_mb_s") == Approx(1).epsilon(0.01));
  CHECK_FALSE(values.contains("gpu_percent"));

  CHECK(meter.take(start + std::chrono::seconds(19)).empty());
  values = as_map(meter.take(start + std::chrono::seconds(20)));
  CHECK(values.at("cpu_cores") == 0);  // no CPU time since the last call
  const double mean = 3000 / ticks / 20;
  CHECK(as_map(meter.of_run(start + std::chrono::seconds(20))).at("cpu_cores") ==
        Approx(mean).epsilon(0.01));
  CHECK(as_map(meter.of_readings()).at("cpu_cores") == Approx(mean).epsilon(0.01));
  CHECK(meter.of_readings().empty());  // no reading since the previous call
}

TEST_CASE("a run with one process on its host does not count other runs of the same parent") {
  const test::TemporaryDirectory folder;
  write_proc(folder.path(), 1);
  UtilizationMeter all({}, /*alone=*/false, folder.path());
  UtilizationMeter one({}, /*alone=*/true, folder.path());
  const auto later = SteadyClock::now() + std::chrono::seconds(11);
  const double together = as_map(all.take(later)).at("memory_gb");
  CHECK(as_map(one.take(later)).at("memory_gb") < together);
}

TEST_CASE("values that the system does not offer are left out") {
  const test::TemporaryDirectory folder;
  UtilizationMeter meter({}, true, folder.path());
  CHECK(meter.take(SteadyClock::now() + std::chrono::seconds(11)).empty());
}

TEST_CASE("this system offers the utilization of processor and memory") {
  UtilizationMeter meter({}, true);
  const auto values = as_map(meter.take(SteadyClock::now() + std::chrono::seconds(11)));
  CHECK(values.at("cpu_cores") >= 0);
  CHECK(values.at("memory_gb") > 0.001);
  CHECK(values.at("memory_percent") > 0);
}

TEST_CASE("the run's GPUs are read with NVML, if there is one") {
  const std::vector<std::string> both = {"0000:3b:00.0", "0000:af:00.0"};
  CHECK(Nvml::open(both, "no-such-library.so") == nullptr);
  CHECK(Nvml::open(both, "libm.so.6") == nullptr);  // has none of the functions
  CHECK(Nvml::open({}, SHOAL_FAKE_NVML) == nullptr);
  CHECK(Nvml::open({both[0], "0000:b0:00.0"}, SHOAL_FAKE_NVML) == nullptr);
  const auto gpus = Nvml::open(both, SHOAL_FAKE_NVML);
  REQUIRE(gpus);
  auto use = gpus->read();
  REQUIRE(use);
  CHECK(use->percent == 50);         // the mean of 25 % and 75 %
  CHECK(use->memory_percent == 60);  // 40 and 80 of 100 bytes
  const auto second = Nvml::open({both[1]}, SHOAL_FAKE_NVML);
  REQUIRE(second);
  use = second->read();
  REQUIRE(use);
  CHECK(use->percent == 75);
  CHECK(use->memory_percent == 80);
  CHECK_FALSE(gpus->read());  // the fake NVML fails at the second GPU's third reading
}

TEST_CASE("the utilization of GPUs is the mean of the readings, one every 10 s") {
  const test::TemporaryDirectory folder;
  UtilizationMeter meter({"0000:3b:00.0", "0000:af:00.0"}, true, folder.path(), SHOAL_FAKE_NVML);
  const auto start = SteadyClock::now();
  const auto at = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  CHECK(meter.take(at(9)).empty());
  for (const int seconds : {10, 20}) {
    const auto values = as_map(meter.take(at(seconds)));
    CHECK(values.at("gpu_percent") == 50);
    CHECK(values.at("gpu_memory_percent") == 60);
  }
  CHECK(meter.take(at(30)).empty());  // the fake NVML fails at the third reading
  CHECK(as_map(meter.of_readings()).at("gpu_percent") == 50);
  CHECK(as_map(meter.of_run(at(30))).at("gpu_memory_percent") == 60);
}

TEST_CASE("the bottleneck is named in words") {
  RunEnd end;
  CHECK(bottleneck(end).empty());
  end.wait = {.steps = 10, .waited = 0, .seconds = 100, .data_seconds = 2, .exchange_seconds = 3};
  CHECK_THAT(bottleneck(end), Catch::StartsWith("computation: 95 %"));
  end.utilization = {{"gpu_percent", 30}};
  CHECK_THAT(bottleneck(end), Catch::Contains("the GPUs compute only 30 %"));
  end.wait.data_seconds = 40;
  end.utilization = {{"cpu_percent", 95}};
  CHECK_THAT(bottleneck(end), Catch::StartsWith("images: ") && Catch::Contains("40 %"));
  end.utilization = {{"cpu_percent", 15}};
  CHECK_THAT(bottleneck(end), Catch::StartsWith("disk: "));
  end.wait.exchange_seconds = 45;
  CHECK_THAT(bottleneck(end), Catch::StartsWith("gradient exchange: ") && Catch::Contains("45 %"));
}
