#include "dist/env/env.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "dist/env/launcher.h"
#include "dist/env/network.h"
#include "dist/env/variables.h"
#include "tests/dist/env/changed_variables.h"

using namespace shoal::dist;
using Catch::Matchers::Contains;

namespace {

Variables torchrun(int rank, int world, int local_rank, int local_world) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(world)},
          {"LOCAL_RANK", std::to_string(local_rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(local_world)},
          {"MASTER_ADDR", "10.0.0.7"},
          {"MASTER_PORT", "29400"}};
}

Variables sagemaker(const std::string& hosts, const std::string& current, int gpus) {
  return {{"SM_HOSTS", hosts},
          {"SM_CURRENT_HOST", current},
          {"SM_NUM_GPUS", std::to_string(gpus)},
          {"SM_NETWORK_INTERFACE_NAME", "eth0"}};
}

}  // namespace

TEST_CASE("without variables there is one process") {
  CHECK_FALSE(find_launcher({}).has_value());
  CHECK_FALSE(from_sagemaker({}).has_value());
  CHECK(this_worker({{"PATH", "/bin"}, {"MASTER_ADDR", "algo-1"}, {"MASTER_PORT", "7777"}}) ==
        single_process());
  CHECK(single_process().world_size == 1);
  CHECK(this_worker(to_variables(single_process())) == single_process());
}

TEST_CASE("all of torchrun's variables are read") {
  auto variables = torchrun(5, 8, 1, 4);
  variables["GLOO_SOCKET_IFNAME"] = "eth1";
  variables["NCCL_SOCKET_IFNAME"] = "eth2";
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  variables["TORCHELASTIC_RESTART_COUNT"] = "3";
  const Env env = read_torchrun(variables).env;
  CHECK(env.rank == 5);
  CHECK(env.world_size == 8);
  CHECK(env.local_rank == 1);
  CHECK(env.local_world_size == 4);
  CHECK(env.master_addr == "10.0.0.7");
  CHECK(env.master_port == 29400);
  CHECK(env.interface == "eth1");
  CHECK(env.agent_store);
  CHECK(env.attempt == 3);
  CHECK(env.origin == "torchrun");
}

TEST_CASE("the interface comes from NCCL's variable when Gloo's is missing") {
  const auto interface = [](const std::string& nccl) {
    return read_torchrun(with(torchrun(0, 2, 0, 2), "NCCL_SOCKET_IFNAME", nccl)).env.interface;
  };
  const std::string none = "longer-than-any-name";  // names have at most 15 characters
  for (const Interface& one : interfaces()) {
    if (one.loopback) {
      CHECK(interface("=" + one.name) == "");
      CHECK(interface(one.name) != one.name);
      continue;
    }
    CHECK(interface(none + "," + one.name) == one.name);
    CHECK(interface("=" + none + ",," + one.name) == one.name);
    CHECK(interface(one.name.substr(0, 1)).starts_with(one.name[0]));  // NCCL accepts prefixes
    CHECK(interface("=" + one.name + none) == "");
  }
  for (const std::string& value : {none, "=" + none, std::string("^docker0"), std::string()})
    CHECK(interface(value) == "");
}

TEST_CASE("every Env survives conversion to variables and back") {
  int trips = 0;
  for (int hosts = 1; hosts <= 4; ++hosts)
    for (int local_world = 1; local_world <= 4; ++local_world)
      for (int rank = 0; rank < hosts * local_world; ++rank)
        for (bool agent_store : {false, true})
          for (const char* interface : {"", "eth0", "eth0,eth1"}) {
            if (hosts * local_world == 1) continue;
            Env env;
            env.rank = rank;
            env.local_rank = rank % local_world;
            env.world_size = hosts * local_world;
            env.local_world_size = local_world;
            env.master_addr = "algo-1";
            env.master_port = static_cast<uint16_t>(1024 + rank);
            env.interface = interface;
            env.agent_store = agent_store;
            env.attempt = rank % 3;
            env.origin = "torchrun";
            REQUIRE(read_torchrun(to_variables(env)).env == env);
            ++trips;
          }
  CHECK(trips > 500);
}

TEST_CASE("a missing torchrun variable is an error that names it") {
  for (const char* name :
       {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    CHECK_THROWS_WITH(read_torchrun(without(torchrun(1, 4, 1, 2), name)),
                      Contains(std::string(name) + " is not set"));
    CHECK_THROWS_AS(this_worker(with(torchrun(1, 4, 1, 2), name, "")), std::invalid_argument);
  }
  CHECK_THROWS_WITH(this_worker({{"WORLD_SIZE", "2"}}),
                    Contains("RANK is not set although WORLD_SIZE"));
}

TEST_CASE("contradictory or malformed torchrun variables are errors that name them") {
  const auto broken = [](const char* name, const char* value) {
    CHECK_THROWS_AS(read_torchrun(with(torchrun(1, 4, 1, 2), name, value)), std::invalid_argument);
    CHECK_THROWS_WITH(read_torchrun(with(torchrun(1, 4, 1, 2), name, value)),
                      Contains(name) && Contains(value));
  };
  broken("RANK", "4");
  broken("RANK", "-1");
  broken("RANK", "1x");
  broken("RANK", " 1");
  broken("RANK", "99999999999");
  broken("WORLD_SIZE", "0");
  broken("WORLD_SIZE", "two");
  broken("LOCAL_RANK", "2");
  broken("LOCAL_WORLD_SIZE", "5");
  broken("MASTER_PORT", "0");
  broken("MASTER_PORT", "65536");
  broken("TORCHELASTIC_USE_AGENT_STORE", "maybe");
  broken("TORCHELASTIC_RESTART_COUNT", "-1");
  CHECK_THROWS_WITH(read_torchrun(torchrun(0, 4, 1, 2)),
                    Contains("LOCAL_RANK is 1") && Contains("RANK, which is 0"));
}

TEST_CASE("SageMaker hosts are sorted as the platform sorts them") {
  const Hosts hosts =
      from_sagemaker(sagemaker(R"(["algo-2","algo-10","algo-1"])", "algo-10", 4)).value();
  CHECK(hosts.hosts == std::vector<std::string>{"algo-1", "algo-10", "algo-2"});
  const Env env = for_worker(hosts, 3);
  CHECK(env.rank == 7);
  CHECK(env.local_rank == 3);
  CHECK(env.world_size == 12);
  CHECK(env.local_world_size == 4);
  CHECK(env.master_addr == "algo-1");
  CHECK(env.master_port == 7777);
  CHECK(env.interface == "eth0");
  CHECK(env.hosts == hosts.hosts);
  CHECK(env.origin == "sagemaker");
  CHECK_THROWS_AS(for_worker(hosts, 4), std::invalid_argument);
}

TEST_CASE("all workers of a SageMaker job agree on distinct ranks") {
  for (int count = 1; count <= 3; ++count)
    for (int gpus : {0, 1, 2, 8}) {
      std::string list = "[";
      for (int i = 1; i <= count; ++i)
        list += (i > 1 ? ", " : "") + std::string("\"algo-") + std::to_string(i) + "\"";
      list += "]";
      std::vector<bool> seen;
      for (int i = 1; i <= count; ++i) {
        const Hosts hosts =
            from_sagemaker(sagemaker(list, "algo-" + std::to_string(i), gpus)).value();
        CHECK(hosts.workers_per_host == (gpus ? gpus : 1));
        for (int local = 0; local < hosts.workers_per_host; ++local) {
          const Env env = for_worker(hosts, local);
          seen.resize(static_cast<size_t>(env.world_size));
          REQUIRE(env.world_size == count * hosts.workers_per_host);
          REQUIRE_FALSE(seen[static_cast<size_t>(env.rank)]);
          seen[static_cast<size_t>(env.rank)] = true;
          Env launched = env;  // what a worker reads from the variables that the launcher sets
          if (env.world_size > 1) launched.origin = "torchrun";
          REQUIRE(this_worker(to_variables(env)) == launched);
        }
      }
    }
}

TEST_CASE("a SageMaker job on one host needs neither its name nor its interface") {
  const Env env =
      for_worker(*from_sagemaker(sagemaker(R"(["algo-1-x4fz2"])", "algo-1-x4fz2", 2)), 1);
  CHECK(env.master_addr == "127.0.0.1");
  CHECK(env.interface.empty());
}

TEST_CASE("the port of a SageMaker job can be chosen") {
  const auto variables =
      with(sagemaker(R"(["algo-1","algo-2"])", "algo-2", 0), "MASTER_PORT", "12345");
  CHECK(this_worker(variables).master_port == 12345);
  CHECK(this_worker(variables).rank == 1);
  CHECK_THROWS_WITH(this_worker(with(variables, "MASTER_PORT", "x")), Contains("MASTER_PORT"));
  CHECK(this_worker(with(variables, "SM_MASTER_PORT", "9")).master_port == 12345);
  CHECK(this_worker(with(without(variables, "MASTER_PORT"), "SM_MASTER_PORT", "9")).master_port ==
        9);
}

TEST_CASE("the variables of ModelTrainer's driver describe a SageMaker job") {
  const Env env = this_worker({{"SM_HOSTS", R"(["algo-1","algo-2","algo-3"])"},
                               {"SM_CURRENT_HOST", "algo-2"},
                               {"SM_HOST_COUNT", "3"},
                               {"SM_CURRENT_HOST_RANK", "1"},
                               {"SM_MASTER_ADDR", "algo-1"},
                               {"SM_MASTER_PORT", "7778"},
                               {"SM_NUM_GPUS", "0"},
                               {"SM_NETWORK_INTERFACE_NAME", "eth0"}});
  CHECK(env.rank == 1);
  CHECK(env.world_size == 3);
  CHECK(env.master_addr == "algo-1");
  CHECK(env.master_port == 7778);
}

TEST_CASE("malformed SageMaker variables are errors that name them") {
  const auto good = sagemaker(R"(["algo-1","algo-2"])", "algo-1", 1);
  CHECK_THROWS_WITH(from_sagemaker(without(good, "SM_HOSTS")), Contains("SM_HOSTS is not set"));
  CHECK_THROWS_WITH(from_sagemaker(without(good, "SM_CURRENT_HOST")),
                    Contains("SM_CURRENT_HOST is not set"));
  CHECK_THROWS_WITH(from_sagemaker(with(good, "SM_CURRENT_HOST", "algo-3")), Contains("algo-3"));
  CHECK_THROWS_WITH(from_sagemaker(with(good, "SM_NUM_GPUS", "many")), Contains("SM_NUM_GPUS"));
  for (const char* list : {"algo-1", "[]", "[1]", R"(["algo-1")", R"({"a":1})", R"(["algo-1",""])"})
    CHECK_THROWS_WITH(from_sagemaker(with(good, "SM_HOSTS", list)), Contains("SM_HOSTS"));
  CHECK_THROWS_WITH(from_sagemaker(with(good, "SM_HOSTS", R"(["algo-1","algo-1"])")),
                    Contains("twice"));
}

TEST_CASE("a single process on a SageMaker host with several GPUs is an error") {
  CHECK_THROWS_WITH(this_worker(sagemaker(R"(["algo-1"])", "algo-1", 8)),
                    Contains("SM_NUM_GPUS asks for 8"));
}

TEST_CASE("a single worker ignores other launchers' variables") {
  auto variables = sagemaker(R"(["algo-1","algo-2"])", "algo-1", 8);
  variables["OMPI_COMM_WORLD_SIZE"] = "4";
  for (const auto& [name, value] : to_variables(single_process())) variables[name] = value;
  CHECK(this_worker(variables) == single_process());
}

TEST_CASE("a host list that does not match the ranks is ignored") {
  CHECK(read_torchrun(with(torchrun(0, 4, 0, 2), "SHOAL_HOSTS", "a,b")).env.hosts.size() == 2);
  CHECK(read_torchrun(with(torchrun(0, 4, 0, 2), "SHOAL_HOSTS", "a,b,c")).env.hosts.empty());
}

TEST_CASE("torchrun's variables take precedence over SageMaker's") {
  auto variables = sagemaker(R"(["algo-1","algo-2"])", "algo-1", 8);
  for (const auto& [name, value] : torchrun(9, 16, 1, 8)) variables[name] = value;
  CHECK(this_worker(variables).rank == 9);
  CHECK(this_worker(variables).origin == "torchrun");
}

TEST_CASE("workers on this host connect over loopback") {
  const Env env = for_local_worker(3, 2, 4242);
  CHECK(env.rank == 2);
  CHECK(env.local_rank == 2);
  CHECK(env.world_size == 3);
  CHECK(env.local_world_size == 3);
  CHECK(env.master_addr == "127.0.0.1");
  CHECK(env.master_port == 4242);
  CHECK(for_local_worker(1, 0, 4242) == single_process());
  CHECK_THROWS_AS(for_local_worker(3, 3, 4242), std::invalid_argument);
  CHECK(environment().count("PATH") == 1);
}
