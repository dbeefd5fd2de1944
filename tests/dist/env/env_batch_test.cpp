#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>

#include "dist/env/launcher.h"
#include "dist/env/network.h"
#include "tests/dist/env/changed_variables.h"

using namespace shoal::dist;
using Catch::Matchers::Contains;

namespace {

constexpr const char* kMainAddress = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS";

// The variables of node 2 of 4 in a job of AWS Batch whose main node is node 1.
const Variables kChild = {{"AWS_BATCH_JOB_ID", "6f1c2a9e-0b7d-4f6e-8a57-1d2c3b4a5e6f#2"},
                          {"AWS_BATCH_JOB_ATTEMPT", "1"},
                          {"AWS_BATCH_JOB_NUM_NODES", "4"},
                          {"AWS_BATCH_JOB_NODE_INDEX", "2"},
                          {"AWS_BATCH_JOB_MAIN_NODE_INDEX", "1"},
                          {kMainAddress, "10.0.1.5"}};

// Returns the variables of the main node, for which Batch does not set the address.
Variables main_node() {
  return without(with(kChild, "AWS_BATCH_JOB_NODE_INDEX", "1"), kMainAddress);
}

Launched launch(const Variables& variables) {
  return find_launcher(variables).value();
}

}  // namespace

TEST_CASE("the nodes of an AWS Batch job connect to the main node's address") {
  const Launched child = launch(kChild);
  CHECK(child.launcher == "AWS Batch");
  CHECK(child.env.origin == "AWS Batch");
  CHECK(child.env.rank == 2);
  CHECK(child.env.world_size == 4);
  CHECK(child.env.local_rank == 0);
  CHECK(child.env.local_world_size == 1);
  CHECK(child.env.master_addr == "10.0.1.5");
  CHECK(child.env.master_port == 7777);
  CHECK(child.master_variable == kMainAddress);
  CHECK(child.workers == "auto");  // one per GPU
  CHECK(child.variables.size() == 4);
  CHECK(launch(with(kChild, "GLOO_SOCKET_IFNAME", "eth1")).env.interface == "eth1");
  const Env worker = for_worker_of(child.env, 8, 3);
  CHECK(worker.rank == 19);
  CHECK(worker.world_size == 32);
}

TEST_CASE("the main node of an AWS Batch job is rank 0, whatever its number is") {
  for (const char* main : {"0", "1", "3"}) {
    INFO(main);
    std::vector<int> ranks;
    for (const char* node : {"0", "1", "2", "3"})
      ranks.push_back(launch(with(kChild, {{"AWS_BATCH_JOB_NODE_INDEX", node},
                                           {"AWS_BATCH_JOB_MAIN_NODE_INDEX", main}}))
                          .env.rank);
    CHECK(ranks.at(std::stoul(main)) == 0);
    std::sort(ranks.begin(), ranks.end());
    CHECK(ranks == std::vector<int>{0, 1, 2, 3});
  }
}

TEST_CASE("the main node of an AWS Batch job uses its own address, and not loopback") {
  const std::string outside = outside_address();
  if (outside.empty()) {
    CHECK_THROWS_WITH(launch(main_node()), Contains("MASTER_ADDR") && Contains("main node"));
  } else {
    const Launched main = launch(main_node());
    CHECK(main.env.rank == 0);
    CHECK(main.env.master_addr == outside);
    CHECK(main.env.master_port == launch(kChild).env.master_port);
    CHECK(main.master_variable.empty());
  }
  // On the main node, AWS Batch does not set the main node's address, but a script may. shoal then
  // checks on rank 0 that it is an address of this host.
  const Launched named = launch(with(main_node(), kMainAddress, "10.0.1.5"));
  CHECK(named.env.master_addr == "10.0.1.5");
  CHECK(named.master_variable == kMainAddress);
}

TEST_CASE("MASTER_ADDR and MASTER_PORT override AWS Batch's main node") {
  for (const Variables& node : {main_node(), kChild, without(kChild, kMainAddress)}) {
    const auto given = launch(with(node, {{"MASTER_ADDR", "head"}, {"MASTER_PORT", "2000"}}));
    CHECK(given.env.master_addr == "head");
    CHECK(given.env.master_port == 2000);
    CHECK(given.master_variable.empty());
  }
}

TEST_CASE("AWS Batch: an ordinary job has no launcher, a multi-node job of one node has one") {
  CHECK_FALSE(find_launcher({{"AWS_BATCH_JOB_ID", "1"}, {"AWS_BATCH_JOB_ATTEMPT", "1"}}));
  CHECK_FALSE(find_launcher({{"AWS_BATCH_JOB_NUM_NODES", "1"}}));
  const Launched alone = launch({{"AWS_BATCH_JOB_NUM_NODES", "1"},
                                 {"AWS_BATCH_JOB_NODE_INDEX", "0"},
                                 {"AWS_BATCH_JOB_MAIN_NODE_INDEX", "0"}});
  CHECK(alone.env.rank == 0);
  CHECK(alone.env.world_size == 1);
  CHECK(alone.env.master_addr.empty());
  CHECK(alone.workers == "auto");
}

TEST_CASE("missing and contradictory variables of AWS Batch are errors that name them") {
  for (const char* name : {"AWS_BATCH_JOB_NUM_NODES", "AWS_BATCH_JOB_NODE_INDEX",
                           "AWS_BATCH_JOB_MAIN_NODE_INDEX", kMainAddress})
    CHECK_THROWS_WITH(find_launcher(without(kChild, name)),
                      Contains(std::string(name) + " is not set although"));
  for (const char* name :
       {"AWS_BATCH_JOB_NUM_NODES", "AWS_BATCH_JOB_NODE_INDEX", "AWS_BATCH_JOB_MAIN_NODE_INDEX"})
    CHECK_THROWS_WITH(find_launcher(with(kChild, name, "x")),
                      Contains(std::string(name) + " is 'x'"));
  CHECK_THROWS_WITH(find_launcher(with(kChild, "AWS_BATCH_JOB_NUM_NODES", "0")),
                    Contains("AWS_BATCH_JOB_NUM_NODES is 0"));
  for (const char* name : {"AWS_BATCH_JOB_NODE_INDEX", "AWS_BATCH_JOB_MAIN_NODE_INDEX"})
    CHECK_THROWS_WITH(find_launcher(with(kChild, name, "4")),
                      Contains(std::string(name) + " is 4") && Contains("AWS_BATCH_JOB_NUM_NODES"));
}

TEST_CASE("launchers that are started in a container of AWS Batch take precedence over it") {
  const Variables mpi = {{"OMPI_COMM_WORLD_RANK", "0"},
                         {"OMPI_COMM_WORLD_SIZE", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}};
  CHECK(launch(with(kChild, mpi)).launcher == "OpenMPI");
  const Variables slurm = {{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"},
                           {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "0"},
                           {"SLURM_NTASKS", "1"},  {"SLURM_TASKS_PER_NODE", "1"}};
  CHECK(launch(with(kChild, slurm)).launcher == "Slurm");
  const Variables pod = {
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "head"}, {"MASTER_PORT", "23456"}};
  CHECK(launch(with(kChild, pod)).env.world_size == 2);
  const Variables torchrun = with(pod, {{"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}});
  CHECK(launch(with(kChild, torchrun)).launcher == "torchrun");
  // The variables that shoal sets for the workers of a node override Batch's, too.
  const Variables worker = to_variables(for_worker_of(launch(kChild).env, 2, 1));
  CHECK(launch(with(kChild, worker)).env.rank == 5);
}
