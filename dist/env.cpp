#include "dist/env.h"

#include <charconv>
#include <stdexcept>

#include "dist/variables.h"

extern "C" char** environ;

namespace shoal::dist {

void bad_variable(const std::string& sentence) {
  throw std::invalid_argument(sentence);
}

const std::string* find(const Variables& variables, const std::string& name) {
  const auto it = variables.find(name);
  return it == variables.end() || it->second.empty() ? nullptr : &it->second;
}

int number(const std::string& name, const std::string& text, int lowest, int highest) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    bad_variable(name + " is '" + text + "', which is not a whole number");
  if (value < lowest || value > highest)
    bad_variable(name + " is " + text + ", but must be from " + std::to_string(lowest) + " to " +
                 std::to_string(highest));
  return value;
}

namespace {

// What torchrun sets together: asking for the name says what is missing.
const std::string& required(const Variables& variables, const char* name) {
  if (const std::string* value = find(variables, name)) return *value;
  std::string present;
  for (const char* other : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"})
    if (find(variables, other)) present += (present.empty() ? "" : ", ") + std::string(other);
  bad_variable(
      std::string(name) + " is not set although " + present +
      " asks for a distributed run; start with torchrun or `shoal train --nproc`, or unset " +
      present);
}

bool truth(const std::string& name, const std::string& text) {
  if (text == "True" || text == "true" || text == "1") return true;
  if (text == "False" || text == "false" || text == "0") return false;
  bad_variable(name + " is '" + text + "', but must be True or False");
}

// NCCL's syntax allows "=eth0" (exactly this one) and "^eth0" (all but this one, of which we make
// nothing).
std::string interface_of(const Variables& variables) {
  if (const std::string* gloo = find(variables, "GLOO_SOCKET_IFNAME")) return *gloo;
  const std::string* nccl = find(variables, "NCCL_SOCKET_IFNAME");
  if (!nccl || nccl->front() == '^') return "";
  std::string name = nccl->substr(0, nccl->find(','));
  return name.front() == '=' ? name.substr(1) : name;
}

}  // namespace

Env single_process() {
  return {};
}

std::optional<Env> from_torchrun(const Variables& variables) {
  bool asked = false;
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"})
    asked |= find(variables, name) != nullptr;
  if (!asked) return std::nullopt;

  const auto whole = [&](const char* name, int lowest, int highest) {
    return number(name, required(variables, name), lowest, highest);
  };
  Env env;
  env.origin = "torchrun";
  env.world_size = whole("WORLD_SIZE", 1, kMostProcesses);
  env.rank = whole("RANK", 0, kMostProcesses);
  env.local_world_size = whole("LOCAL_WORLD_SIZE", 1, kMostProcesses);
  env.local_rank = whole("LOCAL_RANK", 0, kMostProcesses);
  const auto below = [](const char* small, int value, const char* large, int limit,
                        bool or_equal = false) {
    if (value < limit || (or_equal && value == limit)) return;
    bad_variable(std::string(small) + " is " + std::to_string(value) + ", but must be " +
                 (or_equal ? "at most " : "below ") + large + ", which is " +
                 std::to_string(limit));
  };
  below("RANK", env.rank, "WORLD_SIZE", env.world_size);
  below("LOCAL_RANK", env.local_rank, "LOCAL_WORLD_SIZE", env.local_world_size);
  below("LOCAL_WORLD_SIZE", env.local_world_size, "WORLD_SIZE", env.world_size, true);
  below("LOCAL_RANK", env.local_rank, "RANK", env.rank, true);

  env.master_addr = required(variables, "MASTER_ADDR");
  env.master_port = static_cast<uint16_t>(whole("MASTER_PORT", 1, 65535));
  env.interface = interface_of(variables);
  if (const std::string* text = find(variables, "TORCHELASTIC_USE_AGENT_STORE"))
    env.agent_store = truth("TORCHELASTIC_USE_AGENT_STORE", *text);
  if (const std::string* text = find(variables, "TORCHELASTIC_RESTART_COUNT"))
    env.attempt = number("TORCHELASTIC_RESTART_COUNT", *text, 0, kMostProcesses);
  return env;
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

Variables to_variables(const Env& env) {
  if (env.world_size == 1) return {};
  Variables variables = {{"RANK", std::to_string(env.rank)},
                         {"WORLD_SIZE", std::to_string(env.world_size)},
                         {"LOCAL_RANK", std::to_string(env.local_rank)},
                         {"LOCAL_WORLD_SIZE", std::to_string(env.local_world_size)},
                         {"MASTER_ADDR", env.master_addr},
                         {"MASTER_PORT", std::to_string(env.master_port)},
                         {"TORCHELASTIC_USE_AGENT_STORE", env.agent_store ? "True" : "False"},
                         {"TORCHELASTIC_RESTART_COUNT", std::to_string(env.attempt)}};
  if (!env.interface.empty()) variables["GLOO_SOCKET_IFNAME"] = env.interface;
  return variables;
}

Env this_worker(const Variables& variables) {
  if (const auto env = from_torchrun(variables)) return *env;
  const auto hosts = from_sagemaker(variables);
  if (!hosts) return single_process();
  if (hosts->workers_per_host > 1)
    bad_variable("SM_NUM_GPUS asks for " + std::to_string(hosts->workers_per_host) +
                 " processes on this host, but this process was started alone: start `shoal "
                 "train`, which launches them");
  return for_worker(*hosts, 0);
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
