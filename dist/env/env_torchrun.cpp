// Reads the variables of torchrun, torch.distributed.launch, and shoal's own launcher, which sets
// the same ones.

#include "base/text.h"
#include "dist/env/variables.h"

namespace shoal::dist {

namespace {

constexpr RankNames kNames = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};

bool truth(const std::string& name, const std::string& text) {
  if (text == "True" || text == "true" || text == "1") return true;
  if (text == "False" || text == "false" || text == "0") return false;
  bad_variable(name + " is '" + text + "', but must be True or False");
}

// Parses the host list, which only shoal's launcher sets. It is used only in messages, so a list
// that does not match the number of ranks is ignored.
std::vector<std::string> hosts_of(const std::string& list, const Env& env) {
  const std::vector<std::string> hosts = split(list, ',');
  const bool fits = static_cast<int>(hosts.size()) * env.local_world_size == env.world_size;
  return fits ? hosts : std::vector<std::string>();
}

}  // namespace

Launched read_torchrun(const Variables& variables) {
  Reader reader(variables,
                {"TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
                "start with torchrun or `shoal train --nproc`");
  Launched found;
  found.launcher = "torchrun";
  Env& env = found.env;
  reader.ranks(kNames, env);
  env.origin = env.world_size > 1 ? "torchrun" : "single";
  if (env.world_size > 1) {
    env.master_addr = reader.required("MASTER_ADDR");
    env.master_port = static_cast<uint16_t>(reader.whole("MASTER_PORT", 1, 65535));
    reader.interface(env);
  }
  if (const std::string* text = reader.find("TORCHELASTIC_USE_AGENT_STORE"))
    env.agent_store = truth("TORCHELASTIC_USE_AGENT_STORE", *text);
  if (reader.find("TORCHELASTIC_RESTART_COUNT"))
    env.attempt = reader.whole("TORCHELASTIC_RESTART_COUNT", 0, kMaxProcesses);
  if (const std::string* list = reader.find(kHostsVariable)) env.hosts = hosts_of(*list, env);
  found.variables = reader.used();
  return found;
}

}  // namespace shoal::dist
