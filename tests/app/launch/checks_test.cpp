#include "app/launch/checks.h"

#include <catch2/catch.hpp>

#include "tests/support/capture.h"

using namespace shoal;
using app::Check;
using Catch::Contains;
using test::capture;
using test::Folder;

namespace {

const Check* named(const std::vector<Check>& checks, const std::string& name) {
  for (const Check& check : checks) {
    if (check.name == name) return &check;
  }
  return nullptr;
}

std::vector<Check> all(const train::Job& job, const dist::Variables& environment) {
  std::vector<Check> list;
  const auto groups = app::host_checks(job, /*processes=*/1, environment);
  // Leave out the last group: it needs the worker, which this test program does not have.
  for (size_t i = 0; i + 1 < groups.size(); ++i) {
    for (const Check& check : groups[i]()) list.push_back(check);
  }
  return list;
}

}  // namespace

TEST_CASE("a check is one line that says what to do") {
  CHECK(app::to_line({Check::Verdict::ok, "memory", "4 GB", ""}) == "ok    memory: 4 GB");
  CHECK(app::to_line({Check::Verdict::warn, "/dev/shm", "64 MB", "make it larger"}) ==
        "warn  /dev/shm: 64 MB — make it larger");
}

TEST_CASE("a failed or throwing check sets exit code 1, and the other checks still run") {
  const std::vector<Check> good = {{Check::Verdict::ok, "a", "1", ""},
                                   {Check::Verdict::warn, "b", "2", "do"}};
  CHECK(capture([&] { return app::print_checks({[&] { return good; }}); }).code == 0);
  const auto run = capture([&] {
    return app::print_checks(
        {[]() -> std::vector<Check> { throw std::runtime_error("no such file"); },
         [&] { return good; }});
  });
  CHECK(run.code == 1);
  CHECK_THAT(run.out, Contains("bad   check failed: no such file\n") && Contains("ok    a: 1\n") &&
                          Contains("warn  b: 2"));
}

TEST_CASE("the host checks cover processor, memory, network and folders, and leave no files") {
  Folder folder;
  train::Job job;
  job.output = (folder / "runs/new").string();
  const auto checks = all(job, {{"HOME", folder.text()}, {"SAGEMAKER_BASE_DIR", folder.text()}});
  for (const char* name :
       {"processor", "instruction sets", "processors", "memory", "/dev/shm", "open files",
        "network", "output folder", "checkpoint folder", "cache folder", "GPUs"}) {
    INFO(name);
    CHECK(named(checks, name) != nullptr);
  }
  REQUIRE(named(checks, "output folder"));
  CHECK(named(checks, "output folder")->verdict != Check::Verdict::bad);
  CHECK(std::filesystem::is_empty(folder.text()));
}

TEST_CASE("a folder that cannot be created fails the check and names the option") {
  Folder folder;
  test::write_text(folder / "file", "x");
  train::Job job;
  job.output = (folder / "file/runs").string();
  const auto checks = all(job, {{"SAGEMAKER_BASE_DIR", folder.text()}});
  REQUIRE(named(checks, "output folder"));
  CHECK(named(checks, "output folder")->verdict == Check::Verdict::bad);
  CHECK_THAT(named(checks, "output folder")->advice, Contains("--output"));
}

TEST_CASE("more processes than processors give a warning, and each process needs threads") {
  train::Job job;
  const dist::Variables environment;
  const auto checks = app::host_checks(job, 1000, environment).front()();
  REQUIRE(named(checks, "processors"));
  CHECK(named(checks, "processors")->verdict == Check::Verdict::warn);
  CHECK_THAT(named(checks, "processors")->advice,
             Contains("1000 processes") && Contains("--nproc"));
  job.threads = 2, job.workers = 3;
  CHECK(app::threads_needed(job, 4) == 4 * 17);
}

TEST_CASE("the launcher check shows the rank and the launcher and variables that set it") {
  const app::Arguments plain;
  const auto single = app::launcher_checks(plain, {});
  CHECK_THAT(single.at(0).value, Contains("no launcher"));
  const auto torchrun = app::launcher_checks(plain, {{"RANK", "1"},
                                                     {"WORLD_SIZE", "2"},
                                                     {"LOCAL_RANK", "1"},
                                                     {"LOCAL_WORLD_SIZE", "2"},
                                                     {"MASTER_ADDR", "h"},
                                                     {"MASTER_PORT", "1"},
                                                     {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  CHECK_THAT(torchrun.at(0).value, Contains("torchrun"));
  CHECK_THAT(torchrun.at(1).value, Contains("WORLD_SIZE=2"));
  CHECK(torchrun.at(2).name == "rank 1");
  CHECK_THAT(torchrun.at(2).value, Contains("of 2, local rank 1 of 2") &&
                                       Contains("master h:1 (the launcher's store)") &&
                                       Contains("interface chosen by the route"));
  const app::Arguments by_hand = app::parse(
      app::Command::doctor, {"--launcher", "--nnodes", "2", "--node-rank", "1", "--master-addr",
                             "127.0.0.1", "--master-port", "9", "--nproc", "2"});
  const auto nodes = app::launcher_checks(by_hand, {});
  CHECK_THAT(nodes.at(0).value, Contains("--nnodes"));
  CHECK(nodes.at(1).name == "rank 2");
  CHECK_THAT(nodes.at(2).value,
             Contains("of 4, local rank 1 of 2") && Contains("master 127.0.0.1:9"));
  const auto slurm = app::launcher_checks(plain, {{"SLURM_PROCID", "0"},
                                                  {"SLURM_STEP_ID", "0"},
                                                  {"SLURM_NTASKS", "1"},
                                                  {"SLURM_TASKS_PER_NODE", "1"},
                                                  {"SLURM_LOCALID", "0"},
                                                  {"SLURM_NODEID", "0"}});
  CHECK(slurm.at(0).value == "Slurm");
  CHECK_THAT(slurm.at(1).value, Contains("SLURM_PROCID=0"));
  const auto toolkit =
      app::launcher_checks(plain, {{"SM_HOSTS", "[\"a\"]"}, {"SM_CURRENT_HOST", "a"}});
  CHECK_THAT(toolkit.at(1).value, Contains("SM_CURRENT_HOST=a"));
}

TEST_CASE("the launcher check resolves the master's address if the job has several hosts") {
  const auto master = [](const std::string& address, const std::string& hosts) {
    const auto checks = app::launcher_checks(
        app::parse(app::Command::doctor, {"--launcher", "--nnodes", hosts, "--nproc", "2",
                                          "--master-addr", address, "--master-port", "9"}),
        {});
    const Check* const check = named(checks, "master");
    return check ? *check : Check{};
  };
  const Check unknown = master("nosuch.invalid", "2");
  CHECK(unknown.verdict == Check::Verdict::bad);
  CHECK_THAT(unknown.value, Contains("cannot resolve nosuch.invalid"));
  for (const char* loopback : {"127.0.0.1", "localhost"}) {
    CHECK(master(loopback, "2").verdict == Check::Verdict::warn);
    CHECK_THAT(master(loopback, "2").advice, Contains("other hosts cannot reach it"));
  }
  CHECK(master("192.0.2.1", "2").value.empty());       // no complaint
  CHECK(master("nosuch.invalid", "1").value.empty());  // not used: all processes are on this host
}
