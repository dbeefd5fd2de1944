#pragma once
// Heterogeneous clusters: a SageMaker job may have groups of different instance types, and often
// only one of them trains. Pure functions; no torch.

#include <map>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::dist {

// Map from group name to its sorted hosts. Read from SM_INSTANCE_GROUPS_DICT, else from
// SM_RESOURCE_CONFIG (the contents of resourceconfig.json). Empty if neither has groups. Throws
// std::invalid_argument naming the variable.
using InstanceGroups = std::map<std::string, std::vector<std::string>>;
InstanceGroups instance_groups(const Variables&);

// All hosts in SM_RESOURCE_CONFIG, sorted; empty if there are none.
std::vector<std::string> listed_hosts(const Variables&);

// Groups selected by a toolkit's launch (SM_DISTRIBUTION_INSTANCE_GROUPS); empty if not set.
std::vector<std::string> requested_groups(const Variables&);

// Reduces hosts.hosts to the hosts of the groups `asked`, sorted. Returns false if
// hosts.current_host is not one of them and has nothing to do. Throws std::invalid_argument for an
// unknown group, and if there are several groups but none was requested.
bool keep_groups(Hosts& hosts, const InstanceGroups& groups, const std::vector<std::string>& asked);

}  // namespace shoal::dist
