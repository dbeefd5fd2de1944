#include "dist/env/launcher.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "dist/env/variables.h"
#include "tests/dist/env/changed_variables.h"

using namespace shoal::dist;
using Catch::Matchers::Contains;

namespace {

// The variables that each launcher sets for rank 1 of 4: the second of two processes on the first
// of two hosts.
const Variables kOpenMpi = {
    {"OMPI_COMM_WORLD_RANK", "1"},
    {"OMPI_COMM_WORLD_SIZE", "4"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
    {"OMPI_COMM_WORLD_NODE_RANK", "1"},
    {"OMPI_UNIVERSE_SIZE", "4"},
    {"OMPI_MCA_orte_hnp_uri",
     "3021996032.0;tcp://127.0.0.1,172.17.0.1,10.0.1.5:41573;tcp6://[fe80::1]:4"},
    {"PMIX_RANK", "1"},
    {"PMIX_NAMESPACE", "3021996033"}};
const Variables kHorovod = {{"HOROVOD_RANK", "1"},
                            {"HOROVOD_SIZE", "4"},
                            {"HOROVOD_LOCAL_RANK", "1"},
                            {"HOROVOD_LOCAL_SIZE", "2"},
                            {"HOROVOD_CROSS_RANK", "0"},
                            {"HOROVOD_CROSS_SIZE", "2"},
                            {"HOROVOD_HOSTNAME", "node1"},
                            {"HOROVOD_GLOO_RENDEZVOUS_ADDR", "10.0.1.5"},
                            {"HOROVOD_GLOO_RENDEZVOUS_PORT", "31337"},
                            {"HOROVOD_GLOO_IFACE", "eth1"},
                            {"HOROVOD_CONTROLLER", "gloo"}};
const Variables kPmi = {{"PMI_RANK", "1"},
                        {"PMI_SIZE", "4"},
                        {"MPI_LOCALRANKID", "1"},
                        {"MPI_LOCALNRANKS", "2"},
                        {"MASTER_ADDR", "10.0.1.5"}};
const Variables kSlurm = {{"SLURM_JOB_ID", "4711"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_PROCID", "1"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_NODEID", "0"},
                          {"SLURM_NTASKS", "4"},
                          {"SLURM_STEP_NUM_TASKS", "4"},
                          {"SLURM_TASKS_PER_NODE", "2(x2)"},
                          {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                          {"SLURM_STEP_NODELIST", "gpu[007,012]"},
                          {"SLURM_JOB_NODELIST", "gpu[001-020]"},
                          {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"}};

Launched found(const Variables& variables) {
  return find_launcher(variables).value();
}

void check_rank_1_of_4(const Launched& launched) {
  CHECK(launched.env.rank == 1);
  CHECK(launched.env.world_size == 4);
  CHECK(launched.env.local_rank == 1);
  CHECK(launched.env.local_world_size == 2);
  CHECK_FALSE(launched.env.agent_store);
  CHECK(launched.env.master_port >= 1024);
  CHECK(launched.env.origin == launched.launcher);
  CHECK(read_torchrun(to_variables(launched.env)).env.master_addr == launched.env.master_addr);
}

}  // namespace

TEST_CASE("without a launcher's variables there is no launcher") {
  CHECK_FALSE(find_launcher({}).has_value());
  CHECK_FALSE(find_launcher({{"MASTER_ADDR", "h"}, {"MASTER_PORT", "1"}, {"HOSTNAME", "aws"}}));
  CHECK_FALSE(find_launcher({{"SM_HOSTS", R"(["algo-1"])"}, {"SM_CURRENT_HOST", "algo-1"}}));
  CHECK_FALSE(find_launcher({{"PET_NNODES", "1"}, {"PET_NPROC_PER_NODE", "auto"}}));
}

TEST_CASE("OpenMPI's ranks are used, and rank 0 is expected on mpirun's host") {
  const Launched launched = found(kOpenMpi);
  check_rank_1_of_4(launched);
  CHECK(launched.launcher == "OpenMPI");
  CHECK(launched.env.master_addr == "10.0.1.5");  // neither loopback nor Docker's bridge
  CHECK_FALSE(launched.master_variable.empty());
  CHECK(launched.variables.back() == "OMPI_MCA_orte_hnp_uri");
  const auto other_job = with(kOpenMpi, {{"PMIX_NAMESPACE", "3021996034"}});
  CHECK(found(other_job).env.master_port != launched.env.master_port);
  const auto given = found(with(kOpenMpi, {{"MASTER_ADDR", "head"}, {"MASTER_PORT", "2000"}}));
  CHECK(given.env.master_addr == "head");
  CHECK(given.env.master_port == 2000);
  CHECK(given.master_variable.empty());
}

TEST_CASE("OpenMPI uses loopback on one host and needs an address on several") {
  const auto one_host = with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  CHECK(found(one_host).env.master_addr == "127.0.0.1");
  CHECK_THROWS_WITH(found(without(kOpenMpi, "OMPI_MCA_orte_hnp_uri")),
                    Contains("MASTER_ADDR is not set") && Contains("mpirun -x MASTER_ADDR=HOST"));
}

TEST_CASE("mpirun of SageMaker's toolkit uses the platform's port and interface") {
  // SageMaker's toolkit gives every rank the SM_* variables of the host that runs mpirun, so
  // SM_CURRENT_HOST may name another host.
  const auto variables = with(kOpenMpi, {{"SM_HOSTS", R"(["algo-1","algo-2"])"},
                                         {"SM_CURRENT_HOST", "algo-1"},
                                         {"SM_NUM_GPUS", "2"},
                                         {"GLOO_SOCKET_IFNAME", "eth0"}});
  const Launched launched = found(variables);
  check_rank_1_of_4(launched);
  CHECK(launched.env.master_port == 7777);
  CHECK(launched.env.interface == "eth0");
  CHECK(contradiction(launched, variables).empty());
  // smddprun, the launcher of SageMaker's SMDDP library, runs mpirun and adds torchrun's rank
  // variables, but no master address.
  const auto smddp = with(variables, {{"RANK", "1"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "4"}});
  CHECK(found(smddp).launcher == "OpenMPI");
}

TEST_CASE("Horovod's ranks are used with its driver's address and interface") {
  const Launched launched = found(kHorovod);
  check_rank_1_of_4(launched);
  CHECK(launched.launcher == "Horovod");
  CHECK(launched.env.master_addr == "10.0.1.5");
  CHECK_FALSE(launched.master_variable.empty());
  CHECK(launched.env.master_port != 31337);  // 31337 is the driver's port
  CHECK(launched.env.interface == "eth1");
  CHECK(found(with(kHorovod, {{"GLOO_SOCKET_IFNAME", "ib0"}})).env.interface == "ib0");
  // With Horovod over MPI, both sets of variables exist and agree.
  CHECK(found(with(kHorovod, kOpenMpi)).launcher == "OpenMPI");
}

TEST_CASE("Intel MPI's and MPICH's ranks are used") {
  const Launched launched = found(kPmi);
  check_rank_1_of_4(launched);
  CHECK(launched.launcher == "MPI (PMI)");
  CHECK(launched.env.master_addr == "10.0.1.5");
  CHECK_THROWS_WITH(found(without(kPmi, "MASTER_ADDR")), Contains("MASTER_ADDR"));
  CHECK_THROWS_WITH(found({{"PMIX_RANK", "0"}}),
                    Contains("PMI_SIZE is not set although PMIX_RANK is"));
}

TEST_CASE("Slurm's tasks connect to the first host of their step") {
  const Launched launched = found(kSlurm);
  check_rank_1_of_4(launched);
  CHECK(launched.launcher == "Slurm");
  CHECK(launched.env.master_addr == "gpu007");
  CHECK(launched.env.hosts.empty());  // with two tasks per host, their placement is unknown
  CHECK(found(with(kSlurm, {{"SLURM_JOB_ID", "4712"}})).env.master_port !=
        launched.env.master_port);
  CHECK(found(with(kSlurm, {{"SLURM_STEP_ID", "1"}})).env.master_port != launched.env.master_port);
  const auto one_each = found(with(kSlurm, {{"SLURM_STEP_NUM_TASKS", "2"},
                                            {"SLURM_LOCALID", "0"},
                                            {"SLURM_NODEID", "1"},
                                            {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}}));
  CHECK(one_each.env.hosts == std::vector<std::string>{"gpu007", "gpu012"});
  // srun --mpi=pmi2 sets PMI's variables too, without local ranks.
  CHECK(found(with(kSlurm, {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}})).launcher == "Slurm");
  CHECK(found(with(kSlurm, kOpenMpi)).launcher == "OpenMPI");
}

TEST_CASE("Slurm's uneven task counts are read per host") {
  const auto local_world = [](const std::string& counts, const std::string& node) {
    return found(with(kSlurm, {{"SLURM_STEP_NUM_TASKS", "9"},
                               {"SLURM_PROCID", "8"},
                               {"SLURM_LOCALID", "0"},
                               {"SLURM_NODEID", node},
                               {"SLURM_STEP_TASKS_PER_NODE", counts}}))
        .env.local_world_size;
  };
  CHECK(local_world("4(x2),1", "0") == 4);
  CHECK(local_world("4(x2),1", "1") == 4);
  CHECK(local_world("4(x2),1", "2") == 1);
  CHECK_THROWS_WITH(local_world("4(x2),1", "3"), Contains("SLURM_STEP_TASKS_PER_NODE"));
  CHECK_THROWS_WITH(local_world("4(xtwo)", "0"), Contains("SLURM_STEP_TASKS_PER_NODE"));
}

TEST_CASE("a shell of sbatch or salloc is not a job step") {
  const auto batch = without(kSlurm, "SLURM_STEP_ID");
  CHECK_FALSE(find_launcher(batch).has_value());
  CHECK_FALSE(find_launcher(with(kSlurm, {{"SLURM_STEP_ID", "4294967290"}})).has_value());
}

TEST_CASE("Slurm's host lists are expanded") {
  const auto hosts = [](const std::string& text) { return expand_hosts("LIST", text); };
  using List = std::vector<std::string>;
  CHECK(hosts("node1") == List{"node1"});
  CHECK(hosts("node[001-003,7],gpu") == List{"node001", "node002", "node003", "node7", "gpu"});
  CHECK(hosts("n[9-11]") == List{"n9", "n10", "n11"});
  CHECK(hosts("r[1-2]n[01-02].x") == List{"r1n01.x", "r1n02.x", "r2n01.x", "r2n02.x"});
  CHECK(hosts("127.0.0.[1-2]") == List{"127.0.0.1", "127.0.0.2"});
  for (const char* bad : {"", "n[", "n]", "n[2-1]", "n[a]", "n[1-99999999]", "n[]", "a,,b", "n]1["})
    CHECK_THROWS_WITH(hosts(bad), Contains("LIST is '" + std::string(bad) + "'"));
}

TEST_CASE("RANK and WORLD_SIZE without local ranks number hosts") {
  const Variables pod = {{"MASTER_ADDR", "job-master-0"},
                         {"MASTER_PORT", "23456"},
                         {"WORLD_SIZE", "2"},
                         {"RANK", "1"},
                         {"KUBERNETES_PORT", "tcp://10.96.0.1:443"}};
  const Launched launched = found(pod);
  CHECK(launched.launcher == "Kubeflow");
  CHECK(launched.env.rank == 1);
  CHECK(launched.env.world_size == 2);
  CHECK(launched.env.local_rank == 0);
  CHECK(launched.env.local_world_size == 1);
  CHECK(launched.env.master_addr == "job-master-0");
  CHECK(launched.env.master_port == 23456);
  CHECK(launched.workers.empty());
  CHECK(found(without(pod, "KUBERNETES_PORT")).launcher == "RANK and WORLD_SIZE");
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK"})
    CHECK_THROWS_WITH(found(without(pod, name)), Contains(std::string(name) + " is not set"));
  CHECK_THROWS_WITH(found(with(pod, {{"RANK", "2"}})), Contains("RANK is 2"));
  const Env worker = for_worker_of(launched.env, 4, 3);
  CHECK(worker.rank == 7);
  CHECK(worker.world_size == 8);
  CHECK(worker.local_rank == 3);
  CHECK(worker.local_world_size == 4);
  CHECK(worker.master_addr == "job-master-0");
}

TEST_CASE("torchrun's PET variables give hosts and workers") {
  const Variables pod = {{"PET_NNODES", "2"},          {"PET_NODE_RANK", "1"},
                         {"PET_NPROC_PER_NODE", "4"},  {"PET_MASTER_ADDR", "job-0"},
                         {"PET_MASTER_PORT", "29400"}, {"RANK", "1"},
                         {"WORLD_SIZE", "8"}};
  const Launched launched = found(pod);
  CHECK(launched.env.rank == 1);
  CHECK(launched.env.world_size == 2);
  CHECK(launched.env.master_addr == "job-0");
  CHECK(launched.workers == "4");
  CHECK(found(with(pod, {{"PET_NPROC_PER_NODE", "gpu"}})).workers == "auto");
  CHECK_THROWS_WITH(found(without(pod, "PET_NODE_RANK")),
                    Contains("PET_NODE_RANK is not set") && Contains("torchrun"));
  CHECK_THROWS_WITH(found(with(pod, {{"PET_NNODES", "1:4"}})), Contains("PET_NNODES is '1:4'"));
  CHECK(found({{"PET_NNODES", "1"}, {"PET_NODE_RANK", "0"}, {"PET_NPROC_PER_NODE", "2"}})
            .env.world_size == 1);
}

TEST_CASE("simple-sagemaker's variables number hosts if the platform's are missing") {
  const Variables variables = {{"SSM_NUM_NODES", "3"},
                               {"SSM_HOST_RANK", "2"},
                               {"MASTER_ADDR", "algo-1"},
                               {"MASTER_PORT", "7777"}};
  const Launched launched = found(variables);
  CHECK(launched.launcher == "simple-sagemaker");
  CHECK(launched.env.rank == 2);
  CHECK(launched.env.world_size == 3);
  CHECK(launched.workers == "auto");
  CHECK_FALSE(find_launcher(with(variables, {{"SM_HOSTS", R"(["algo-1"])"}})).has_value());
  CHECK_THROWS_WITH(found(without(variables, "SSM_HOST_RANK")), Contains("SSM_HOST_RANK"));
  CHECK_THROWS_WITH(found(without(variables, "MASTER_ADDR")), Contains("MASTER_ADDR"));
}

TEST_CASE("a missing variable of any launcher is an error that names it") {
  struct Case {
    Variables variables;
    std::vector<const char*> needed;
  };
  const std::vector<Case> cases = {
      {kOpenMpi,
       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE"}},
      {kHorovod, {"HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE"}},
      {kPmi, {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}},
      {kSlurm, {"SLURM_LOCALID", "SLURM_NODEID"}}};
  for (const Case& one : cases)
    for (const char* name : one.needed) {
      const auto broken = without(one.variables, name);
      CHECK_THROWS_WITH(find_launcher(broken),
                        Contains(std::string(name) + " is not set although"));
      const auto odd = with(one.variables, {{name, "x"}});
      CHECK_THROWS_WITH(find_launcher(odd), Contains(std::string(name) + " is 'x'"));
    }
  auto bare_slurm = kSlurm;
  for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) bare_slurm.erase(name);
  CHECK_THROWS_WITH(find_launcher(bare_slurm), Contains("SLURM_STEP_NUM_TASKS is not set"));
}

TEST_CASE("torchrun takes precedence over other variables, and a contradiction is reported") {
  const Variables torchrun = {{"RANK", "1"},
                              {"WORLD_SIZE", "4"},
                              {"LOCAL_RANK", "1"},
                              {"LOCAL_WORLD_SIZE", "4"},
                              {"MASTER_ADDR", "10.0.0.7"},
                              {"MASTER_PORT", "29400"},
                              {"TORCHELASTIC_RUN_ID", "none"}};
  const auto slurm_task = with(kSlurm, {{"SLURM_NTASKS", "1"}});
  const auto all = with(with(with(slurm_task, kHorovod), kOpenMpi), torchrun);
  CHECK(found(all).launcher == "torchrun");
  CHECK(found(all).env.local_world_size == 4);

  const auto sagemaker = with(torchrun, {{"SM_HOSTS", R"(["algo-1","algo-2"])"},
                                         {"SM_CURRENT_HOST", "algo-1"},
                                         {"SM_NUM_GPUS", "1"}});
  CHECK_THAT(contradiction(found(sagemaker), sagemaker),
             Contains("torchrun has started 4 processes") && Contains("2 hosts"));
  const auto agreeing = with(sagemaker, {{"SM_NUM_GPUS", "2"}});
  CHECK(contradiction(found(agreeing), agreeing).empty());
  CHECK(contradiction(found(torchrun), torchrun).empty());
}
