#include "dist/gloo.h"

#include <set>
#include <sstream>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "dist/env/network.h"

namespace shoal::dist {

namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream text(list);
  for (std::string name; std::getline(text, name, ',');) names.push_back(name);
  return names;
}

// Returns the interface called `name`, else the first whose name starts with it (NCCL's rule).
// Otherwise throws an error that lists all interfaces.
std::string find_interface(const std::string& name) {
  if (interface_exists(name)) return name;
  std::set<std::string> all;
  for (const Interface& interface : interfaces()) {
    if (!name.empty() && interface.name.rfind(name, 0) == 0) return interface.name;
    all.insert(interface.name);
  }
  std::string list;
  for (const std::string& known : all) list.append(" ").append(known);
  throw std::invalid_argument("network interface '" + name +
                              "' does not exist on this host (there are:" + list +
                              "); correct or unset GLOO_SOCKET_IFNAME");
}

}  // namespace

std::string GlooAddress::text() const {
  std::string result = interfaces.empty() ? "address " + address : "interface";
  for (const std::string& name : interfaces) result.append(" ").append(name);
  return result;
}

GlooAddress gloo_address(const Env& env) {
  GlooAddress result;
  // SageMaker may name an interface that does not exist (local mode). An interface named by the
  // user or the launcher must exist.
  const bool only_a_hint = env.origin == "sagemaker" && !interface_exists(env.interface);
  if (!env.interface.empty() && !only_a_hint) {
    for (const std::string& name : split(env.interface))
      result.interfaces.push_back(find_interface(name));
    return result;
  }
  result.address = "127.0.0.1";
  if (env.local_world_size < env.world_size)
    result.address = address_towards(env.master_addr, env.master_port);
  // On the master itself, /etc/hosts often maps its name to loopback, where other hosts cannot
  // reach it. An explicit loopback address (127.0.0.1) is kept.
  const bool by_name = env.master_addr != "localhost" && !env.master_addr.starts_with("127.");
  if (result.address.starts_with("127.") && env.local_world_size < env.world_size && by_name)
    if (const std::string outside = outside_address(); !outside.empty()) result.address = outside;
  if (result.address.empty())
    throw std::runtime_error("rank " + std::to_string(env.rank) +
                             ": no network route to the master " + env.master_addr +
                             "; check MASTER_ADDR, or name the interface with GLOO_SOCKET_IFNAME");
  return result;
}

c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                            int size, const GlooAddress& address,
                                            std::chrono::milliseconds connect_timeout,
                                            std::chrono::milliseconds timeout) {
  using c10d::ProcessGroupGloo;
  auto options = ProcessGroupGloo::Options::create(connect_timeout);
  if (address.interfaces.empty())
    options->devices.push_back(ProcessGroupGloo::createDeviceForHostname(address.address));
  for (const std::string& name : address.interfaces)
    options->devices.push_back(ProcessGroupGloo::createDeviceForInterface(name));
  auto backend = c10::make_intrusive<ProcessGroupGloo>(store, rank, size, options);
  backend->setTimeout(timeout);
  return backend;
}

}  // namespace shoal::dist
