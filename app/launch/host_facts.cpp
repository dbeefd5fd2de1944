#include "app/launch/machine.h"
#include "app/launch/plan.h"
#include "dist/env/network.h"

namespace shoal::app {

HostFacts host_facts(const dist::Variables& environment) {
  HostFacts facts;
  facts.gpus = gpu_count(environment);
  facts.processors = usable_processors();
  facts.free_port = dist::free_port;
  facts.interface_exists = dist::interface_exists;
  facts.may_be_this_host = dist::may_be_this_host;
  facts.bound = bound_by_parent();
  facts.fabric = find_fabric("/", environment);
  return facts;
}

}  // namespace shoal::app
