// Reads variables that count hosts (pods), not processes. shoal starts the workers of each host
// later; until then, the Env has one process per host.

#include "dist/env/variables.h"

namespace shoal::dist {

namespace {

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

}  // namespace shoal::dist
