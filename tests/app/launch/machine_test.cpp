#include "app/launch/machine.h"

#include <catch2/catch.hpp>

#include "app/platform/failure.h"
#include "base/net/host.h"
#include "tests/support/capture.h"

using namespace shoal;
using test::Folder;

TEST_CASE("the processor quota is read from cgroups v1 and v2") {
  Folder two;
  test::write_text(two / "cpu.max", "150000 100000\n");
  CHECK(app::processor_quota(two.text()) == 1.5);
  test::write_text(two / "cpu.max", "max 100000\n");
  CHECK(app::processor_quota(two.text()) == 0);
  Folder one;
  test::write_text(one / "cpu.cfs_quota_us", "400000\n");
  test::write_text(one / "cpu.cfs_period_us", "100000\n");
  CHECK(app::processor_quota(one.text()) == 4);
  test::write_text(one / "cpu.cfs_quota_us", "-1\n");
  CHECK(app::processor_quota(one.text()) == 0);
  CHECK(app::processor_quota("/nowhere") == 0);
}

TEST_CASE("a cgroup's available memory is its limit minus the used memory, without cached files") {
  Folder two;
  CHECK_FALSE(app::cgroup_available(two.text()));
  test::write_text(two / "memory.max", "max\n");
  CHECK_FALSE(app::cgroup_available(two.text()));
  test::write_text(two / "memory.max", "1000\n");
  test::write_text(two / "memory.current", "700\n");
  CHECK(app::cgroup_available(two.text()) == 300u);
  test::write_text(two / "memory.stat", "anon 500\ninactive_file 150\nactive_file 50\n");
  CHECK(app::cgroup_available(two.text()) == 450u);
  test::write_text(two / "memory.current", "1200\n");
  CHECK(app::cgroup_available(two.text()) == 0u);
  Folder one;
  test::write_text(one / "memory.limit_in_bytes", "1000\n");
  test::write_text(one / "memory.usage_in_bytes", "900\n");
  test::write_text(one / "memory.stat", "total_inactive_file 100\n");
  CHECK(app::cgroup_available(one.text()) == 200u);
}

TEST_CASE("the limits of a process are those of its cgroup and of all cgroups above it") {
  using Paths = std::vector<std::filesystem::path>;
  CHECK(app::cgroup_folders("0::/a.slice/job\n", "/c", "cpu") ==
        Paths{"/c/", "/c/cpu/", "/c/a.slice/job", "/c/a.slice", "/c/"});
  CHECK(app::cgroup_folders("7:cpu,cpuacct:/slurm/1\n4:memory:/m\nbroken\n", "/c", "cpu") ==
        Paths{"/c/", "/c/cpu/", "/c/cpu/slurm/1", "/c/cpu/slurm", "/c/cpu/"});
}

TEST_CASE("at least one processor and some memory are usable") {
  CHECK(app::usable_processors() >= 1);
  CHECK(app::memory_bytes() > 0);
  CHECK(app::available_memory_bytes() > 0);
  CHECK(app::available_memory_bytes() <= app::memory_bytes());
  CHECK_FALSE(host_name().empty());
}

TEST_CASE("CUDA_VISIBLE_DEVICES limits the GPUs as in CUDA") {
  const auto visible = [](const std::string& list) {
    return app::visible_gpus(4, {{"CUDA_VISIBLE_DEVICES", list}});
  };
  CHECK(app::visible_gpus(4, {}) == 4);
  CHECK(visible("") == 0);
  CHECK(visible("-1") == 0);
  CHECK(visible("0") == 1);
  CHECK(visible("3,1") == 2);
  CHECK(visible("0,1,-1,2") == 2);
  CHECK(visible("0,1,2,3,4") == 4);
  CHECK(app::gpu_count({{"CUDA_VISIBLE_DEVICES", ""}}) == 0);
}

TEST_CASE("the error for a missing worker lists the searched paths") {
  // There is no worker in the folder of this test program.
  CHECK_THROWS_AS(app::worker_program(), app::SetupMissing);
  CHECK_THROWS_WITH(app::worker_program(),
                    Catch::Contains("shoal-worker") && Catch::Contains("libexec"));
}

TEST_CASE("no library of a program that can be started is reported as missing") {
  CHECK(app::missing_libraries("/bin/sh").empty());
  CHECK(app::missing_libraries(std::filesystem::path(SHOAL_BINARY_DIR) / "shoal").empty());
}

TEST_CASE("the error for a program that lacks a library names the library") {
  // A copy of the shell that needs a C library of another version.
  const Folder folder;
  const auto program = folder / "sh";
  std::string bytes = test::read_text("/bin/sh");
  REQUIRE(test::count_of(bytes, "libc.so.6") > 0);
  for (size_t at = 0; (at = bytes.find("libc.so.6", at)) != bytes.npos;) bytes[at + 8] = '0';
  test::write_text(program, bytes);
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  CHECK(app::missing_libraries(program) == std::vector<std::string>{"libc.so.0"});
  // installed_program() searches no folder for an absolute path.
  CHECK_THROWS_AS(app::installed_program(program.string()), app::SetupMissing);
  CHECK_THROWS_WITH(app::installed_program(program.string()),
                    Catch::Contains(program.string() + " cannot be started: libc.so.0 is missing"));
}
