#pragma once
// Heterogeneous clusters: a SageMaker job may have groups of instances of different types, of which
// often only one trains. Pure functions; no torch.

#include <map>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::dist {

// Name → hosts, sorted. From SM_INSTANCE_GROUPS_DICT, else from SM_RESOURCE_CONFIG (which is
// resourceconfig.json); empty where neither names any. Throws std::invalid_argument naming the
// variable.
using InstanceGroups = std::map<std::string, std::vector<std::string>>;
InstanceGroups instance_groups(const Variables&);

// All hosts of SM_RESOURCE_CONFIG, sorted; empty where it names none.
std::vector<std::string> listed_hosts(const Variables&);

// The groups that a toolkit's launch is for (SM_DISTRIBUTION_INSTANCE_GROUPS); empty: not said.
std::vector<std::string> asked_groups(const Variables&);

// Leaves the hosts of the groups `asked` in hosts.hosts, sorted. False when hosts.current_host is
// none of them, so that nothing is to be done here. Throws std::invalid_argument when there is no
// group of such a name, and when several groups are there and none was asked for.
bool keep_groups(Hosts& hosts, const InstanceGroups& groups, const std::vector<std::string>& asked);

}  // namespace shoal::dist
