#include "dist/gloo.h"

#include <set>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "base/text.h"
#include "dist/env/network.h"

namespace shoal::dist {

namespace {

// Returns the interface called `name`, else the first one whose name starts with it, as NCCL does.
// Otherwise throws an error that lists all interfaces.
std::string find_interface(const std::string& name) {
  const std::vector<Interface> present = interfaces();
  if (std::string found = matching_interface(name, present); !found.empty()) return found;
  std::set<std::string> all;
  for (const Interface& interface : present) all.insert(interface.name);
  std::string list;
  for (const std::string& known : all) list.append(" ").append(known);
  throw std::invalid_argument("network interface '" + name +
                              "' does not exist on this host (existing interfaces:" + list +
                              "); correct or unset GLOO_SOCKET_IFNAME");
}

}  // namespace

std::string GlooAddress::text() const {
  return interfaces.empty() ? "address " + address : "interface " + joined(interfaces, " ");
}

GlooAddress gloo_address(const Env& env) {
  GlooAddress result;
  // In local mode, SageMaker may name an interface that does not exist. An interface that the user
  // or a launcher names must exist.
  const bool only_a_hint = env.origin == "sagemaker" && !interface_exists(env.interface);
  if (!env.interface.empty() && !only_a_hint) {
    for (const std::string& name : split(env.interface, ','))
      result.interfaces.push_back(find_interface(name));
    return result;
  }
  result.address = own_address(env);
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
