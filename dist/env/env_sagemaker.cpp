// Reads the host list of a SageMaker job. Every host sorts the list, so all agree on rank 0 without
// communication.

#include <algorithm>

#include "dist/env/variables.h"

namespace shoal::dist {

std::optional<Hosts> from_sagemaker(const Variables& variables) {
  const std::string* list = find(variables, "SM_HOSTS");
  const std::string* current = find(variables, "SM_CURRENT_HOST");
  if (!list && !current) return std::nullopt;
  if (!list) bad_variable("SM_HOSTS is not set although SM_CURRENT_HOST is " + *current);
  if (!current) bad_variable("SM_CURRENT_HOST is not set although SM_HOSTS is " + *list);

  Hosts result;
  result.hosts = name_list("SM_HOSTS", *list);
  result.current_host = *current;
  if (!std::binary_search(result.hosts.begin(), result.hosts.end(), *current))
    bad_variable("SM_CURRENT_HOST is " + *current + ", which is not one of SM_HOSTS " + *list);
  if (const std::string* gpus = find(variables, "SM_NUM_GPUS"))
    result.workers_per_host = std::max(1, number("SM_NUM_GPUS", *gpus, 0, 1024));
  if (const std::string* interface = find(variables, "SM_NETWORK_INTERFACE_NAME"))
    result.interface = *interface;
  for (const char* name : {"SM_MASTER_PORT", "MASTER_PORT"})
    if (const std::string* port = find(variables, name))
      result.master_port = static_cast<uint16_t>(number(name, *port, 1, 65535));
  return result;
}

Env for_worker(const Hosts& hosts, int local_rank) {
  if (local_rank < 0 || local_rank >= hosts.workers_per_host)
    bad_variable("worker " + std::to_string(local_rank) + " does not exist: each host has " +
                 std::to_string(hosts.workers_per_host));
  const auto host = std::find(hosts.hosts.begin(), hosts.hosts.end(), hosts.current_host);
  if (host == hosts.hosts.end())
    bad_variable("host " + hosts.current_host + " is not in the list of hosts");

  Env env;
  env.world_size = static_cast<int>(hosts.hosts.size()) * hosts.workers_per_host;
  if (env.world_size == 1) return single_process();
  env.rank = static_cast<int>(host - hosts.hosts.begin()) * hosts.workers_per_host + local_rank;
  env.local_rank = local_rank;
  env.local_world_size = hosts.workers_per_host;
  env.master_addr = hosts.hosts.front();
  env.master_port = hosts.master_port;
  env.interface = hosts.interface;
  env.hosts = hosts.hosts;
  // A single host uses loopback, because its name may not resolve and its interface may not exist.
  if (hosts.hosts.size() == 1) {
    env.master_addr = "127.0.0.1";
    env.interface.clear();
    env.hosts.clear();
  }
  env.origin = "sagemaker";
  return env;
}

}  // namespace shoal::dist
