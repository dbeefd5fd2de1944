#include "dist/env/env.h"

#include <algorithm>

#include "base/text.h"
#include "dist/env/launcher.h"
#include "dist/env/variables.h"

extern "C" char** environ;

namespace shoal::dist {

Env single_process() {
  return {};
}

Env for_local_worker(int workers, int local_rank, uint16_t master_port) {
  if (workers < 1 || local_rank < 0 || local_rank >= workers)
    bad_variable("worker " + std::to_string(local_rank) + " of " + std::to_string(workers) +
                 " does not exist");
  if (workers == 1) return single_process();
  Env env;
  env.rank = env.local_rank = local_rank;
  env.world_size = env.local_world_size = workers;
  env.master_addr = "127.0.0.1";
  env.master_port = master_port;
  env.origin = "torchrun";
  return env;
}

Env for_worker_of(const Env& host, int workers, int local_rank) {
  Env env = host;
  env.rank = host.rank * workers + local_rank;
  env.world_size = host.world_size * workers;
  env.local_rank = local_rank;
  env.local_world_size = workers;
  return env;
}

Variables to_variables(const Env& env) {
  Variables variables = {{"RANK", std::to_string(env.rank)},
                         {"WORLD_SIZE", std::to_string(env.world_size)},
                         {"LOCAL_RANK", std::to_string(env.local_rank)},
                         {"LOCAL_WORLD_SIZE", std::to_string(env.local_world_size)}};
  if (env.world_size == 1) return variables;
  variables["MASTER_ADDR"] = env.master_addr;
  variables["MASTER_PORT"] = std::to_string(env.master_port);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = env.agent_store ? "True" : "False";
  variables["TORCHELASTIC_RESTART_COUNT"] = std::to_string(env.attempt);
  if (!env.interface.empty()) variables["GLOO_SOCKET_IFNAME"] = env.interface;
  if (!env.hosts.empty()) variables[kHostsVariable] = joined(env.hosts, ",");
  return variables;
}

Env this_worker(const Variables& variables) {
  if (const auto launched = find_launcher(variables)) return launched->env;
  const auto hosts = from_sagemaker(variables);
  if (!hosts) return single_process();
  if (hosts->workers_per_host > 1)
    bad_variable("SM_NUM_GPUS asks for " + std::to_string(hosts->workers_per_host) +
                 " processes on this host, but only this one was started: run `shoal`, not "
                 "`shoal-worker`; it starts them");
  return for_worker(*hosts, 0);
}

std::string rank_with_host(int rank, const Env& env) {
  const auto host = static_cast<size_t>(rank / std::max(1, env.local_world_size));
  return std::to_string(rank) + (host < env.hosts.size() ? " (" + env.hosts[host] + ")" : "");
}

Variables environment() {
  Variables variables;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string text = *entry;
    if (const size_t equals = text.find('='); equals != std::string::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

}  // namespace shoal::dist
