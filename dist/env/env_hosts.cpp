// Reads variables that count hosts (pods, nodes), not processes. shoal starts the workers of each
// host later; until then, the Env has one process per host.

#include "dist/env/network.h"
#include "dist/env/variables.h"

namespace shoal::dist {

namespace {

constexpr const char *kNodes = "AWS_BATCH_JOB_NUM_NODES", *kNode = "AWS_BATCH_JOB_NODE_INDEX",
                     *kMainNode = "AWS_BATCH_JOB_MAIN_NODE_INDEX",
                     *kMainAddress = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS";

// Reads MASTER_ADDR, MASTER_PORT and the network interface. With only one host, reads nothing;
// otherwise the first two are required.
void given_master(Reader& reader, Env& env) {
  if (env.world_size == 1) return;
  env.master_addr = reader.required("MASTER_ADDR");
  env.master_port = static_cast<uint16_t>(reader.whole("MASTER_PORT", 1, 65535));
  reader.interface(env);
}

void ranks_of_hosts(Reader& reader, const char* rank, const char* count, Env& env) {
  env.world_size = reader.whole(count, 1, kMaxProcesses);
  env.rank = reader.whole(rank, 0, kMaxProcesses);
  Reader::check_ranks({rank, count, "", ""}, env);
}

}  // namespace

Launched read_pods(const Variables& variables) {
  Reader reader(variables, {"RANK", "WORLD_SIZE"},
                "set all variables that Kubeflow's PyTorchJob sets (RANK, "
                "WORLD_SIZE, MASTER_ADDR, MASTER_PORT)");
  Launched found;
  found.launcher = find(variables, "KUBERNETES_PORT") ? "Kubeflow" : "RANK and WORLD_SIZE";
  found.env.origin = found.launcher;
  ranks_of_hosts(reader, "RANK", "WORLD_SIZE", found.env);
  given_master(reader, found.env);
  found.variables = reader.used();
  return found;
}

// Accepts only a fixed number of hosts. An elastic range such as 1:4 needs torchrun.
Launched read_pet(const Variables& variables) {
  Reader reader(variables, {"PET_NNODES", "PET_NODE_RANK", "PET_RDZV_ENDPOINT"},
                "start with torchrun, which reads these variables");
  Launched found;
  found.launcher = found.env.origin = "Kubeflow (PET_NNODES)";
  ranks_of_hosts(reader, "PET_NODE_RANK", "PET_NNODES", found.env);
  if (reader.find("PET_MASTER_ADDR")) {
    found.env.master_addr = reader.required("PET_MASTER_ADDR");
    found.env.master_port = static_cast<uint16_t>(reader.whole("PET_MASTER_PORT", 1, 65535));
    reader.interface(found.env);
  } else {
    given_master(reader, found.env);
  }
  const std::string* workers = reader.find("PET_NPROC_PER_NODE");
  if (workers) found.workers = *workers == "gpu" || *workers == "cpu" ? "auto" : *workers;
  found.variables = reader.used();
  return found;
}

Launched read_simple(const Variables& variables) {
  Reader reader(variables, {"SSM_NUM_NODES", "SSM_HOST_RANK"},
                "start with simple-sagemaker's launcher, which sets both and SM_HOSTS");
  Launched found;
  found.launcher = found.env.origin = "simple-sagemaker";
  found.workers = "auto";
  ranks_of_hosts(reader, "SSM_HOST_RANK", "SSM_NUM_NODES", found.env);
  given_master(reader, found.env);
  found.variables = reader.used();
  return found;
}

Launched read_batch(const Variables& variables) {
  Reader reader(variables, {kNodes, kNode, kMainNode, kMainAddress},
                "pass all variables that AWS Batch sets to this process");
  Launched found;
  Env& env = found.env;
  found.launcher = env.origin = "AWS Batch";
  found.workers = "auto";
  // Reads both node numbers as ranks, which checks that they are below the number of nodes.
  ranks_of_hosts(reader, kNode, kNodes, env);
  const int node = env.rank;
  ranks_of_hosts(reader, kMainNode, kNodes, env);
  const int main = env.rank;
  // Rank 0 is the main node: Batch gives the main node's address to all other nodes, and the main
  // node's exit code becomes the job's. The other nodes keep their order.
  env.rank = node == main ? 0 : node + (node < main ? 1 : 0);
  std::string address;
  if (env.world_size > 1 && !find(variables, "MASTER_ADDR")) {
    // Batch does not set the address on the main node itself, but a script may.
    if (env.rank > 0 || find(variables, kMainAddress)) {
      address = reader.required(kMainAddress);
      found.master_variable = kMainAddress;
    } else {
      address = outside_address();
    }
  }
  // Uses a fixed port, because each container has a network interface of its own.
  reader.master(env, address, kDefaultPort,
                "set it to an address of this node that the other nodes can reach; shoal found no "
                "network interface other than loopback");
  reader.interface(env);
  found.variables = reader.used();
  return found;
}

}  // namespace shoal::dist
