#include "dist/env/variables.h"

#include <algorithm>
#include <stdexcept>

#include "base/json.h"
#include "base/text.h"
#include "dist/env/network.h"

namespace shoal::dist {

void bad_variable(const std::string& sentence) {
  throw std::invalid_argument(sentence);
}

const std::string* find(const Variables& variables, const std::string& name) {
  const auto it = variables.find(name);
  return it == variables.end() || it->second.empty() ? nullptr : &it->second;
}

std::string value_of(const Variables& variables, const std::string& name) {
  const std::string* value = find(variables, name);
  return value ? *value : "";
}

int number(const std::string& name, const std::string& text, int lowest, int highest) {
  const auto value = parse_number<int>(text);
  if (!value) bad_variable(name + " is '" + text + "', which is not a whole number");
  if (*value < lowest || *value > highest)
    bad_variable(name + " is " + text + ", but must be from " + std::to_string(lowest) + " to " +
                 std::to_string(highest));
  return *value;
}

std::vector<std::string> name_list(const std::string& variable, const std::string& text) {
  std::vector<std::string> names;
  const auto json = parse_json(text);
  if (!json.is_array() || json.empty())
    bad_variable(variable + " is '" + text + "', but must be a JSON list of names");
  for (const auto& name : json) {
    if (!name.is_string() || name.get<std::string>().empty())
      bad_variable(variable + " is '" + text + "', but must contain only names");
    names.push_back(name.get<std::string>());
  }
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    bad_variable(variable + " names " + *twice + " twice");
  return names;
}

uint16_t port_from(const std::string& text) {
  // FNV-1a. Never change it: all versions of shoal must choose the same port.
  uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<uint16_t>(kFirstPort + hash % kPortCount);
}

const std::string* Reader::find(const std::string& name) {
  const std::string* value = dist::find(variables_, name);
  if (value && std::find(used_.begin(), used_.end(), name) == used_.end()) used_.push_back(name);
  return value;
}

const std::string& Reader::required(const std::string& name) {
  if (const std::string* value = find(name)) return *value;
  std::vector<std::string> present;
  for (const std::string& other : family_)
    if (dist::find(variables_, other)) present.push_back(other);
  const std::string list = joined(present);
  bad_variable(name + " is not set although " + list + (present.size() == 1 ? " is; " : " are; ") +
               advice_ + ", or unset " + list);
}

std::string Reader::one_of(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (dist::find(variables_, name)) return name;
  required(names.front());
  return names.front();
}

int Reader::whole(const std::string& name, int lowest, int highest) {
  return number(name, required(name), lowest, highest);
}

Reader::Reader(const Variables& variables, const RankNames& names, std::string advice,
               const char* name, Launched& found)
    : Reader(variables, {names.rank, names.world_size, names.local_rank, names.local_world_size},
             std::move(advice)) {
  found.launcher = found.env.origin = name;
  ranks(names, found.env);
}

void Reader::ranks(const RankNames& names, Env& env) {
  env.world_size = whole(names.world_size, 1, kMaxProcesses);
  env.rank = whole(names.rank, 0, kMaxProcesses);
  env.local_world_size = whole(names.local_world_size, 1, kMaxProcesses);
  env.local_rank = whole(names.local_rank, 0, kMaxProcesses);
  check_ranks(names, env);
}

void Reader::check_ranks(const RankNames& names, const Env& env) {
  const auto below = [](const char* small, int value, const char* large, int limit,
                        bool or_equal = false) {
    if (value < limit || (or_equal && value == limit)) return;
    bad_variable(std::string(small) + " is " + std::to_string(value) + ", but must be " +
                 (or_equal ? "at most " : "below ") + large + ", which is " +
                 std::to_string(limit));
  };
  below(names.rank, env.rank, names.world_size, env.world_size);
  below(names.local_rank, env.local_rank, names.local_world_size, env.local_world_size);
  below(names.local_world_size, env.local_world_size, names.world_size, env.world_size, true);
  below(names.local_rank, env.local_rank, names.rank, env.rank, true);
}

bool Reader::master(Env& env, const std::string& derived, uint16_t port,
                    const std::string& advice) {
  if (env.world_size == 1) return false;
  env.master_port = port;
  if (find("MASTER_PORT")) env.master_port = static_cast<uint16_t>(whole("MASTER_PORT", 1, 65535));
  if (const std::string* given = find("MASTER_ADDR")) {
    env.master_addr = *given;
    return false;
  }
  if (env.local_world_size == env.world_size) {
    env.master_addr = "127.0.0.1";
    return false;
  }
  if (derived.empty())
    bad_variable("MASTER_ADDR is not set, and the " + std::to_string(env.world_size) +
                 " processes are on several hosts: " + advice);
  env.master_addr = derived;
  return true;
}

// Uses GLOO_SOCKET_IFNAME, else the first interface other than loopback that NCCL_SOCKET_IFNAME
// matches. Loopback need not be set: Gloo uses it by default if all ranks run on one host.
void Reader::interface(Env& env) {
  if (const std::string* gloo = find("GLOO_SOCKET_IFNAME")) {
    env.interface = *gloo;
    return;
  }
  const std::string* nccl = dist::find(variables_, "NCCL_SOCKET_IFNAME");
  if (!nccl) return;
  env.interface = nccl_interface(*nccl);
  if (!env.interface.empty()) find("NCCL_SOCKET_IFNAME");
}

}  // namespace shoal::dist
