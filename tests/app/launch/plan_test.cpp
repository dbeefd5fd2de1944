#include "app/launch/plan.h"

#include <catch2/catch.hpp>

using namespace shoal;
using app::Arguments;
using app::HostFacts;
using app::Plan;
using Catch::Contains;
using dist::Variables;

namespace {

const HostFacts kHost{/*gpus=*/0, /*processors=*/8, [] { return uint16_t{12345}; },
                      [](const std::string& name) { return name == "eth0"; }};

using Words = std::vector<std::string>;

Plan plan(const Words& words, const Variables& environment, const HostFacts& host = kHost) {
  return app::plan_workers(app::parse(app::Command::train, words), environment, host);
}

std::string variable(const Plan& made, size_t worker, const std::string& name) {
  return dist::value_of(made.workers.at(worker).environment, name);
}

const Variables kTorchrun = {{"RANK", "3"},
                             {"WORLD_SIZE", "4"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "10.0.0.1"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_RUN_ID", "none"},
                             {"OMP_NUM_THREADS", "1"}};

const Variables kTwoHosts = {{"SM_HOSTS", R"(["algo-1","algo-2"])"},
                             {"SM_CURRENT_HOST", "algo-2"},
                             {"SM_NUM_GPUS", "2"},
                             {"SM_NETWORK_INTERFACE_NAME", "eth0"}};

}  // namespace

TEST_CASE("by default, the process becomes a single worker with all processors") {
  const Plan made = plan({}, {{"HOME", "/root"}});
  CHECK(made.in_place);
  REQUIRE(made.workers.size() == 1);
  CHECK(variable(made, 0, "RANK").empty());
  CHECK(variable(made, 0, "HOME") == "/root");
  CHECK(variable(made, 0, "OMP_NUM_THREADS") == "8");
  CHECK(made.extra_arguments.empty());
}

TEST_CASE("nproc starts workers over loopback and divides the processors among them") {
  const Plan made = plan({"--nproc", "3"}, {});
  CHECK_FALSE(made.in_place);
  REQUIRE(made.workers.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(made.workers[i].name == "rank " + std::to_string(i));
    CHECK(variable(made, i, "RANK") == std::to_string(i));
    CHECK(variable(made, i, "LOCAL_RANK") == std::to_string(i));
    CHECK(variable(made, i, "WORLD_SIZE") == "3");
    CHECK(variable(made, i, "LOCAL_WORLD_SIZE") == "3");
    CHECK(variable(made, i, "MASTER_ADDR") == "127.0.0.1");
    CHECK(variable(made, i, "MASTER_PORT") == "12345");
    CHECK(variable(made, i, "OMP_NUM_THREADS") == "2");
  }
  CHECK(plan({"--nproc", "1"}, {}).in_place);
}

TEST_CASE("nproc auto is one worker per GPU, or one worker without GPUs") {
  HostFacts host = kHost;
  CHECK(plan({"--nproc", "auto"}, {}, host).workers.size() == 1);
  host.gpus = 4;
  CHECK(plan({"--nproc", "auto"}, {}, host).workers.size() == 4);
  CHECK(plan({"--nproc", "auto", "--device", "cpu"}, {}, host).workers.size() == 1);
  CHECK(plan({}, {}, host).workers.size() == 1);
}

TEST_CASE("an invalid nproc is a user error") {
  for (const char* text : {"0", "-1", "two", "2x", "100000"}) {
    CHECK_THROWS_AS(plan({"--nproc", text}, {}), UserError);
  }
}

TEST_CASE("under torchrun, the process becomes the worker and keeps torchrun's variables") {
  const Plan made = plan({}, kTorchrun);
  CHECK(made.in_place);
  REQUIRE(made.workers.size() == 1);
  CHECK(made.workers[0].name == "rank 3");
  CHECK(variable(made, 0, "RANK") == "3");
  CHECK(variable(made, 0, "MASTER_ADDR") == "10.0.0.1");
}

TEST_CASE("OMP_NUM_THREADS=1 set by torchrun is ignored") {
  const Plan made = plan({}, kTorchrun);
  CHECK(variable(made, 0, "OMP_NUM_THREADS") == "4");
  CHECK(made.extra_arguments.empty());
}

TEST_CASE("the user's number of threads is kept") {
  const Plan by_variable = plan({}, {{"OMP_NUM_THREADS", "3"}});
  CHECK(variable(by_variable, 0, "OMP_NUM_THREADS") == "3");
  CHECK(by_variable.extra_arguments == std::vector<std::string>{"--threads=3"});
  const Plan by_option = plan({"--threads", "5"}, {{"OMP_NUM_THREADS", "3"}});
  CHECK(variable(by_option, 0, "OMP_NUM_THREADS") == "5");
  CHECK(by_option.extra_arguments.empty());
  CHECK_THROWS_WITH(plan({}, {{"OMP_NUM_THREADS", "2000"}}), Contains("OMP_NUM_THREADS is 2000"));
}

TEST_CASE("nproc under torchrun is an error") {
  CHECK_THROWS_AS(plan({"--nproc", "2"}, kTorchrun), UserError);
  CHECK_THROWS_WITH(plan({"--nproc", "2"}, kTorchrun), Contains("--nproc") && Contains("torchrun"));
}

TEST_CASE("incomplete launcher variables are an error") {
  CHECK_THROWS_AS(plan({}, {{"RANK", "0"}, {"WORLD_SIZE", "2"}}), std::invalid_argument);
  CHECK_THROWS_AS(plan({}, {{"SM_HOSTS", R"(["algo-1"])"}}), std::invalid_argument);
}

TEST_CASE("on SageMaker, every host starts one worker per GPU") {
  const Plan made = plan({}, kTwoHosts);
  CHECK_FALSE(made.in_place);
  CHECK(made.host == "algo-2");
  REQUIRE(made.workers.size() == 2);
  CHECK(variable(made, 0, "RANK") == "2");
  CHECK(variable(made, 1, "RANK") == "3");
  CHECK(variable(made, 1, "LOCAL_RANK") == "1");
  CHECK(variable(made, 1, "WORLD_SIZE") == "4");
  CHECK(variable(made, 1, "MASTER_ADDR") == "algo-1");
  CHECK(variable(made, 1, "NCCL_SOCKET_IFNAME") == "eth0");
  CHECK(variable(made, 1, "GLOO_SOCKET_IFNAME") == "eth0");
}

TEST_CASE("with several hosts, even a single worker is started as a child process") {
  Variables environment = kTwoHosts;
  environment["SM_NUM_GPUS"] = "0";
  const Plan made = plan({}, environment);
  CHECK_FALSE(made.in_place);
  CHECK(made.workers.size() == 1);
  CHECK(variable(made, 0, "WORLD_SIZE") == "2");
}

TEST_CASE("a SageMaker interface that does not exist is ignored") {
  Variables environment = kTwoHosts;
  environment["SM_NETWORK_INTERFACE_NAME"] = "ethwe";
  const Plan made = plan({}, environment);
  CHECK(variable(made, 0, "NCCL_SOCKET_IFNAME").empty());
  CHECK(variable(made, 0, "GLOO_SOCKET_IFNAME").empty());
}

TEST_CASE("nproc sets the number of workers on each SageMaker host") {
  CHECK(plan({"--nproc", "3"}, kTwoHosts).workers.size() == 3);
  CHECK(plan({"--device", "cpu"}, kTwoHosts).workers.size() == 1);
  Variables one_host = {
      {"SM_HOSTS", R"(["algo-1"])"}, {"SM_CURRENT_HOST", "algo-1"}, {"SM_NUM_GPUS", "8"}};
  CHECK(plan({}, one_host).workers.size() == 8);
  const Plan single = plan({"--nproc", "1"}, one_host);
  CHECK(single.in_place);
  // Read the variables as the worker does.
  CHECK(dist::this_worker(single.workers[0].environment).world_size == 1);
}

TEST_CASE("the processes of one host use only loopback, unless an interface is named") {
  Variables environment = {{"SM_HOSTS", R"(["algo-1"])"},
                           {"SM_CURRENT_HOST", "algo-1"},
                           {"SM_NUM_GPUS", "2"},
                           {"SM_NETWORK_INTERFACE_NAME", "eth0"}};
  for (const Plan& made : {plan({}, environment), plan({"--nproc", "2"}, {})}) {
    CHECK(variable(made, 1, "GLOO_SOCKET_IFNAME").empty());
    CHECK(variable(made, 1, "NCCL_SOCKET_IFNAME") == "lo");
    CHECK(dist::this_worker(made.workers[1].environment).interface.empty());
  }
  environment["GLOO_SOCKET_IFNAME"] = "eth1";
  environment["NCCL_SOCKET_IFNAME"] = "eth2";
  const Plan named = plan({}, environment);
  CHECK(variable(named, 1, "GLOO_SOCKET_IFNAME") == "eth1");
  CHECK(variable(named, 1, "NCCL_SOCKET_IFNAME") == "eth2");
}

TEST_CASE("a process started by mpirun becomes a worker with torchrun's variables") {
  const Variables mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  const Plan made = plan({}, mpi);
  CHECK(made.in_place);
  CHECK(made.launched_by == "OpenMPI");
  REQUIRE(made.workers.size() == 1);
  CHECK(variable(made, 0, "RANK") == "1");
  CHECK(variable(made, 0, "WORLD_SIZE") == "2");
  CHECK(variable(made, 0, "MASTER_ADDR") == "127.0.0.1");
  CHECK(variable(made, 0, "OMP_NUM_THREADS") == "4");
  HostFacts bound = kHost;
  bound.bound = true;
  CHECK(variable(plan({}, mpi, bound), 0, "OMP_NUM_THREADS") == "8");
  CHECK_THROWS_WITH(plan({"--nproc", "2"}, mpi), (Contains("--nproc is 2") && Contains("OpenMPI")));
}

TEST_CASE("if rank 0 is not on the expected host, the error says what to set") {
  Variables mpi = {{"OMPI_COMM_WORLD_RANK", "0"},
                   {"OMPI_COMM_WORLD_SIZE", "2"},
                   {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                   {"OMPI_MCA_orte_hnp_uri", "1.0;tcp://10.0.0.9:1"}};
  HostFacts elsewhere = kHost;
  elsewhere.may_be_this_host = [](const std::string&) { return false; };
  CHECK_THROWS_WITH(plan({}, mpi, elsewhere),
                    Contains("rank 0 is not on 10.0.0.9") && Contains("-x MASTER_ADDR=HOST"));
  CHECK(variable(plan({}, mpi), 0, "MASTER_ADDR") == "10.0.0.9");
  mpi["MASTER_ADDR"] = "gateway";  // set by the user
  CHECK(variable(plan({}, mpi, elsewhere), 0, "MASTER_ADDR") == "gateway");
}

TEST_CASE("a process that a launcher started once per host starts the host's workers") {
  const Variables pod = {{"MASTER_ADDR", "job-master-0"},
                         {"MASTER_PORT", "23456"},
                         {"WORLD_SIZE", "2"},
                         {"RANK", "1"}};
  CHECK(plan({}, pod).in_place);
  CHECK(plan({}, pod).notes.empty());
  const Plan made = plan({"--nproc", "2"}, pod);
  CHECK_FALSE(made.in_place);
  REQUIRE(made.workers.size() == 2);
  CHECK(variable(made, 1, "RANK") == "3");
  CHECK(variable(made, 1, "WORLD_SIZE") == "4");
  CHECK(variable(made, 1, "LOCAL_WORLD_SIZE") == "2");
  CHECK(variable(made, 1, "MASTER_ADDR") == "job-master-0");
  CHECK(variable(made, 1, "OMP_NUM_THREADS") == "4");
  Variables first = pod;
  first["RANK"] = "0";  // only rank 0 prints notes
  REQUIRE(plan({"--nproc", "2"}, first).notes.size() == 1);
  CHECK_THAT(plan({"--nproc", "2"}, first).notes[0], Contains("runs on its own host"));
  HostFacts gpus = kHost;
  gpus.gpus = 4;
  CHECK_THAT(plan({}, first, gpus).notes.at(0), Contains("use --nproc auto for all of them"));
  CHECK(plan({"--nproc", "auto"}, pod, gpus).workers.size() == 4);

  const Variables alone = {
      {"PET_NNODES", "1"}, {"PET_NODE_RANK", "0"}, {"PET_NPROC_PER_NODE", "2"}};
  const Plan local = plan({}, alone);
  REQUIRE(local.workers.size() == 2);
  CHECK(variable(local, 1, "MASTER_ADDR") == "127.0.0.1");
  CHECK(variable(local, 1, "MASTER_PORT") == "12345");
}

TEST_CASE("every node of an AWS Batch job starts one worker per GPU") {
  const char* address = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS";
  Variables node = {{"AWS_BATCH_JOB_NUM_NODES", "2"},
                    {"AWS_BATCH_JOB_NODE_INDEX", "1"},
                    {"AWS_BATCH_JOB_MAIN_NODE_INDEX", "0"},
                    {address, "10.0.1.5"}};
  CHECK(plan({}, node).in_place);  // without GPUs, one worker
  HostFacts gpus = kHost;
  gpus.gpus = 4;
  const Plan made = plan({}, node, gpus);
  REQUIRE(made.workers.size() == 4);
  CHECK(variable(made, 3, "RANK") == "7");
  CHECK(variable(made, 3, "WORLD_SIZE") == "8");
  CHECK(variable(made, 3, "LOCAL_RANK") == "3");
  CHECK(variable(made, 3, "MASTER_ADDR") == "10.0.1.5");
  CHECK(variable(made, 3, "MASTER_PORT") == "7777");
  CHECK(plan({"--nproc", "2"}, node, gpus).workers.size() == 2);
  // On the main node, AWS Batch does not set the main node's address, but a script may. It must
  // then be an address of this host.
  node["AWS_BATCH_JOB_NODE_INDEX"] = "0";
  HostFacts elsewhere = kHost;
  elsewhere.may_be_this_host = [](const std::string&) { return false; };
  CHECK_THROWS_WITH(plan({}, node, elsewhere),
                    Contains("rank 0 is not on 10.0.1.5") && Contains(address));
}

TEST_CASE("torchrun's variables override SageMaker's, and rank 0 prints a note") {
  Variables both = kTwoHosts;
  for (const auto& [name, value] : kTorchrun) both[name] = value;
  CHECK(plan({}, both).notes.empty());  // 2 hosts with 2 processes each match the world size 4
  both["SM_NUM_GPUS"] = "8";
  CHECK(plan({}, both).notes.empty());  // rank 3 prints no note
  both["RANK"] = both["LOCAL_RANK"] = "0";
  const Plan made = plan({}, both);
  CHECK(variable(made, 0, "WORLD_SIZE") == "4");
  REQUIRE(made.notes.size() == 1);
  CHECK_THAT(made.notes[0], Contains("torchrun has started 4 processes"));
}

TEST_CASE("hosts of other instance groups do not take part in the job") {
  Variables environment = kTwoHosts;
  environment["SM_INSTANCE_GROUPS_DICT"] =
      R"({"gpu":{"hosts":["algo-2"]},"data":{"hosts":["algo-1"]}})";
  CHECK_THROWS_WITH(plan({}, environment), Contains("--instance-group NAME"));
  const Plan made = plan({"--instance-group", "gpu"}, environment);
  REQUIRE(made.workers.size() == 2);
  CHECK(variable(made, 0, "WORLD_SIZE") == "2");
  CHECK(variable(made, 0, "MASTER_ADDR") == "127.0.0.1");
  const Plan idle = plan({"--instance-group", "data"}, environment);
  CHECK(idle.workers.empty());
  CHECK_THAT(idle.notes.at(0), Contains("algo-2, is not used by this job"));
  environment["SM_DISTRIBUTION_INSTANCE_GROUPS"] = R"(["data"])";
  CHECK(plan({}, environment).workers.empty());
  CHECK(plan({"--instance-group", "data,gpu"}, environment).workers.size() == 2);
  // A single worker of a smaller group must not take the world size of the whole job.
  environment["SM_NUM_GPUS"] = "1";
  const Plan single = plan({"--instance-group", "gpu"}, environment);
  CHECK(dist::this_worker(single.workers.at(0).environment).world_size == 1);
  CHECK_THROWS_WITH(plan({"--instance-group", "gpu"}, {}), Contains("not a SageMaker job"));
}

TEST_CASE("the user's network interface is kept on SageMaker") {
  Variables environment = kTwoHosts;
  environment["GLOO_SOCKET_IFNAME"] = "eth7";
  const Plan made = plan({}, environment);
  CHECK(variable(made, 0, "GLOO_SOCKET_IFNAME") == "eth7");
  CHECK(variable(made, 0, "NCCL_SOCKET_IFNAME") == "eth0");
}

TEST_CASE("variables that libraries read at load time are set unless the user has set them") {
  const Variables plain = app::tuned({}, 4);
  CHECK(plain.at("OMP_NUM_THREADS") == "4");
  CHECK(plain.count("GOMP_SPINCOUNT") == 1);
  CHECK(plain.at("CUBLAS_WORKSPACE_CONFIG") == ":4096:8");
  CHECK(plain.count("TORCH_NCCL_ASYNC_ERROR_HANDLING") == 1);
  CHECK(plain.at("NCCL_LAUNCH_ORDER_IMPLICIT") == "1");
  const Variables users =
      app::tuned({{"GOMP_SPINCOUNT", "7"}, {"CUBLAS_WORKSPACE_CONFIG", ":16:8"}}, 4);
  CHECK(users.at("GOMP_SPINCOUNT") == "7");
  CHECK(users.at("CUBLAS_WORKSPACE_CONFIG") == ":16:8");
  CHECK(app::tuned({{"OMP_WAIT_POLICY", "active"}}, 4).count("GOMP_SPINCOUNT") == 0);
}

TEST_CASE("hosts given only on the command line get ranks in the whole job") {
  const Words words = {"--nnodes", "3", "--node-rank", "1", "--nproc", "2"};
  const Plan made = plan(words, {{"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "7777"}});
  CHECK_FALSE(made.in_place);
  REQUIRE(made.workers.size() == 2);
  CHECK(variable(made, 1, "RANK") == "3");
  CHECK(variable(made, 1, "LOCAL_RANK") == "1");
  CHECK(variable(made, 1, "WORLD_SIZE") == "6");
  CHECK(variable(made, 1, "LOCAL_WORLD_SIZE") == "2");
  CHECK(variable(made, 1, "MASTER_ADDR") == "10.0.0.1");
  CHECK(variable(made, 1, "MASTER_PORT") == "7777");
  const Plan named = plan({"--world-size", "2", "--rank", "0", "--dist-url", "tcp://h:99"}, {});
  CHECK(variable(named, 0, "MASTER_ADDR") == "h");
  CHECK(variable(named, 0, "WORLD_SIZE") == "2");
  CHECK_THROWS_WITH(plan(words, {}), Contains("--master-addr") && Contains("address of host 0"));
  CHECK_THROWS_WITH(plan(words, {{"MASTER_ADDR", "h"}}),
                    Contains("port") && Contains("--master-port") && !Contains("--master-addr"));
  CHECK_THROWS_WITH(plan(words, {{"MASTER_ADDR", "h"}, {"MASTER_PORT", "70000"}}),
                    Contains("MASTER_PORT is '70000'"));
  CHECK_THROWS_WITH(plan({"--nnodes", "2", "--node-rank", "2", "--dist-url", "tcp://h:9"}, {}),
                    Contains("--node-rank is 2"));
  // The launcher's number of hosts is used; a note is printed if --nnodes differs.
  CHECK(plan({"--nnodes", "9"}, kTwoHosts).workers.size() == 2);
  Variables first = kTwoHosts;
  first["SM_CURRENT_HOST"] = "algo-1";
  const Words notes = plan({"--nnodes", "9"}, first).notes;
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Contains("--nnodes 9") && Contains("SageMaker") && Contains("2 hosts"));
  CHECK(plan({"--nnodes", "9"}, kTwoHosts).notes.empty());  // only the first host prints it
  CHECK(plan({"--nnodes", "2"}, first).notes.empty());
  Variables torchrun = kTorchrun;
  torchrun["RANK"] = torchrun["LOCAL_RANK"] = "0";
  const Words launched = plan({"--nnodes", "9"}, torchrun).notes;
  REQUIRE(launched.size() == 1);
  CHECK_THAT(launched[0], Contains("--nnodes 9") && Contains("torchrun") && Contains("2 hosts"));
}

TEST_CASE("--batch-per-host implies one process per GPU, as in the imagenet example") {
  HostFacts host = kHost;
  host.gpus = 4;
  CHECK(plan({"--multiprocessing-distributed"}, {}, host).workers.size() == 4);
  CHECK(plan({"--multiprocessing-distributed", "--nproc", "2"}, {}, host).workers.size() == 2);
  CHECK(plan({}, {}, host).workers.size() == 1);
}

TEST_CASE("a note reports hosts that differ from SageMaker's list") {
  const dist::Variables job = {{"SM_HOSTS", R"(["algo-1","algo-2"])"},
                               {"SM_CURRENT_HOST", "algo-1"}};
  const auto notes = [&](const char* config) {
    dist::Variables variables = job;
    variables["SM_RESOURCE_CONFIG"] = config;
    return plan({}, variables).notes;
  };
  CHECK(notes(R"({"hosts": ["algo-2", "algo-1"]})").empty());
  const auto said = notes(R"({"hosts": ["algo-1"]})");
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], Contains("SM_HOSTS names algo-1, algo-2") && Contains("resourceconfig.json"));
}
