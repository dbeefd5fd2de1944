// A run of two processes must end with the same bits under every launcher as under our own. These
// tests only set the variables that a launcher sets; launchers_installed_test.cpp runs the
// installed launchers.

#include <catch2/catch.hpp>

#include "tests/end_to_end/launch/small_run.h"

using namespace shoal;
using test::Invocation;
using test::pair_run;

namespace {

using Environment = std::vector<std::string>;

void check(const std::string& name, const Environment& first, const Environment& second) {
  INFO(name);
  const auto words = pair_run().words(name);
  test::require_success(test::run_together({{words, first}, {words, second}}));
  pair_run().require_same(name);
}

}  // namespace

TEST_CASE("tasks with srun's variables on two hosts train together", "[replayed]") {
  const std::string job = "SLURM_JOB_ID=" + test::free_port();
  const auto task = [&](const std::string& id) -> Environment {
    return {job,
            "SLURM_STEP_ID=0",
            "SLURM_NTASKS=2",
            "SLURM_STEP_NUM_TASKS=2",
            "SLURM_STEP_TASKS_PER_NODE=1(x2)",
            "SLURM_STEP_NODELIST=127.0.0.[1-2]",
            "SLURM_LOCALID=0",
            "SLURM_PROCID=" + id,
            "SLURM_NODEID=" + id};
  };
  check("slurm", task("0"), task("1"));
}

TEST_CASE("the pods of a Kubeflow job train together", "[replayed]") {
  const std::string master = "MASTER_PORT=" + test::free_port();
  const auto pod = [&](const std::string& rank) -> Environment {
    return {"MASTER_ADDR=localhost", master, "WORLD_SIZE=2", "RANK=" + rank,
            "KUBERNETES_PORT=tcp://10.96.0.1:443"};
  };
  check("kubeflow", pod("0"), pod("1"));
}

TEST_CASE("processes with horovodrun's variables train together", "[replayed]") {
  const std::string driver = "HOROVOD_GLOO_RENDEZVOUS_PORT=" + test::free_port();
  const auto process = [&](const std::string& rank) -> Environment {
    return {driver,
            "HOROVOD_GLOO_RENDEZVOUS_ADDR=127.0.0.1",
            "HOROVOD_GLOO_IFACE=lo",
            "HOROVOD_CONTROLLER=gloo",
            "HOROVOD_SIZE=2",
            "HOROVOD_RANK=" + rank,
            "HOROVOD_LOCAL_SIZE=1",
            "HOROVOD_LOCAL_RANK=0",
            "HOROVOD_CROSS_SIZE=2",
            "HOROVOD_CROSS_RANK=" + rank};
  };
  check("horovod", process("0"), process("1"));
}

TEST_CASE("processes with Intel MPI's variables on one host train together", "[replayed]") {
  const std::string master = "MASTER_PORT=" + test::free_port();
  const auto process = [&](const std::string& rank) -> Environment {
    return {master, "PMI_SIZE=2", "PMI_RANK=" + rank, "MPI_LOCALNRANKS=2",
            "MPI_LOCALRANKID=" + rank};
  };
  check("pmi", process("0"), process("1"));
}

TEST_CASE("hosts with the variables of SageMaker's script mode train together", "[replayed]") {
  const std::string master = "MASTER_PORT=" + test::free_port();
  const auto host = [&](const std::string& name) -> Environment {
    return {master,          R"(SM_HOSTS=["localhost","127.0.0.1"])", "SM_CURRENT_HOST=" + name,
            "SM_NUM_GPUS=0", "SM_NETWORK_INTERFACE_NAME=ethwe",       "SSM_NUM_NODES=2"};
  };
  check("script mode", host("127.0.0.1"), host("localhost"));
}

TEST_CASE("the nodes of an AWS Batch job train together", "[replayed]") {
  const std::string master = "MASTER_PORT=" + test::free_port();
  const auto node = [&](const std::string& index) -> Environment {
    return {master, "AWS_BATCH_JOB_NUM_NODES=2", "AWS_BATCH_JOB_MAIN_NODE_INDEX=1",
            "AWS_BATCH_JOB_NODE_INDEX=" + index};
  };
  Environment child = node("0"), main = node("1");
  const std::string address = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=";
  // AWS Batch tells the main node's address only to the other nodes. The main node finds it itself.
  const auto doctor = test::run_shoal({"doctor", "--launcher"}, main);
  const size_t before = doctor.out.find("master "), after = doctor.out.find(" (rank 0's store)");
  if (before != std::string::npos && after != std::string::npos) {
    const std::string place = doctor.out.substr(before + 7, after - before - 7);
    child.push_back(address + place.substr(0, place.rfind(':')));
  } else {  // this host has only loopback, so a script must name the address
    REQUIRE(doctor.out.find("MASTER_ADDR") != std::string::npos);
    for (Environment* each : {&child, &main}) each->push_back(address + "127.0.0.1");
  }
  check("batch", child, main);
}

TEST_CASE("only the host of rank 0 needs a checkpoint to resume from", "[replayed]") {
  const auto pod = [](const std::string& master_port, const std::string& rank) -> Environment {
    return {"MASTER_ADDR=localhost", "MASTER_PORT=" + master_port, "WORLD_SIZE=2", "RANK=" + rank};
  };
  const auto train = [&](const std::string& second, const std::vector<std::string>& more) {
    const std::string master_port = test::free_port();
    return test::run_together({{pair_run().words("first", more), pod(master_port, "0")},
                               {pair_run().words(second, more), pod(master_port, "1")}});
  };
  test::require_success(train("second", {"--max-steps", "3"}));
  const auto checkpoints = [](const std::string& name) {
    return train::CheckpointStore(pair_run().output(name) / "checkpoints", 1).entries();
  };
  REQUIRE(checkpoints("first").front().step == 3);
  REQUIRE(checkpoints("second").empty());
  const auto resumed = train("new", {"--resume"});
  test::require_success(resumed);
  REQUIRE(resumed[0].err.find("step-00000003") != std::string::npos);
  REQUIRE(checkpoints("new").empty());
  pair_run().require_same("first");
}

TEST_CASE("if a host is missing, rank 0 names it", "[replayed]") {
  const auto run =
      test::run_shoal({"train", "--data", (pair_run().output("data")).string(), "--output",
                       pair_run().output("alone").string(), "--rendezvous-timeout", "1"},
                      {"MASTER_PORT=" + test::free_port(),
                       R"(SM_HOSTS=["127.0.0.1","algo-2.invalid"])", "SM_CURRENT_HOST=127.0.0.1"});
  REQUIRE(run.exit_code == 1);
  REQUIRE(run.err.find("rank 1 (algo-2.invalid") != std::string::npos);
  REQUIRE(run.err.find("--rendezvous-timeout") != std::string::npos);
}

TEST_CASE("a host outside the instance group ends at once with success", "[replayed]") {
  const auto run = test::run_shoal(
      {"train", "--data", "nowhere", "--instance-group", "gpu"},
      {R"(SM_HOSTS=["algo-1","algo-2"])", "SM_CURRENT_HOST=algo-2",
       R"(SM_INSTANCE_GROUPS_DICT={"gpu":{"hosts":["algo-1"]},"data":{"hosts":["algo-2"]}})"});
  REQUIRE(run.exit_code == 0);
  REQUIRE(run.err.find("algo-2") != std::string::npos);
}
