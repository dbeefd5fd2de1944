// Reads the variables of AWS Batch's multi-node parallel jobs. They count nodes, not processes:
// Batch starts one container per node. shoal starts the workers of each node later; until then, the
// Env has one process per node.

#include "dist/env/network.h"
#include "dist/env/variables.h"

namespace shoal::dist {

namespace {

constexpr const char *kNodes = "AWS_BATCH_JOB_NUM_NODES", *kNode = "AWS_BATCH_JOB_NODE_INDEX",
                     *kMainNode = "AWS_BATCH_JOB_MAIN_NODE_INDEX",
                     *kMainAddress = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS";

// Returns the number of a node, below env.world_size.
int node_number(Reader& reader, const char* name, Env env) {
  env.rank = reader.whole(name, 0, kMaxProcesses);
  Reader::check_ranks({name, kNodes, "", ""}, env);
  return env.rank;
}

}  // namespace

Launched read_batch(const Variables& variables) {
  Reader reader(variables, {kNodes, kNode, kMainNode, kMainAddress},
                "pass all variables that AWS Batch sets to this process");
  Launched found;
  Env& env = found.env;
  found.launcher = env.origin = "AWS Batch";
  found.workers = "auto";
  env.world_size = reader.whole(kNodes, 1, kMaxProcesses);
  const int node = node_number(reader, kNode, env), main = node_number(reader, kMainNode, env);
  // The main node is rank 0: Batch gives the others only its address, and its exit code becomes the
  // job's. The others keep their order.
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
