#pragma once
// Heterogeneous clusters: a SageMaker job may have several groups of hosts with different instance
// types. Often only one of the groups trains. Pure functions that do not use LibTorch.

#include <map>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::dist {

// Maps the name of each group to its sorted hosts.
using InstanceGroups = std::map<std::string, std::vector<std::string>>;

// Reads the groups from SM_INSTANCE_GROUPS_DICT, else from SM_RESOURCE_CONFIG (the contents of
// resourceconfig.json). Returns an empty map if neither has groups. All functions of this header
// that read a variable throw std::invalid_argument naming the variable if it is malformed.
InstanceGroups instance_groups(const Variables&);

// Returns all hosts in SM_RESOURCE_CONFIG, sorted; empty if there are none.
std::vector<std::string> listed_hosts(const Variables&);

// Returns the groups selected by SM_DISTRIBUTION_INSTANCE_GROUPS, which SageMaker's toolkits set;
// empty if it is not set.
std::vector<std::string> requested_groups(const Variables&);

// Sets hosts.hosts to the sorted hosts of the groups `requested`. Returns false if
// hosts.current_host is in none of these groups and therefore takes no part in training. If
// `requested` is empty and the job has at most one group, changes nothing and returns true. Throws
// std::invalid_argument for an unknown group, and if there are several groups but `requested` is
// empty.
bool keep_groups(Hosts& hosts, const InstanceGroups& groups,
                 const std::vector<std::string>& requested);

}  // namespace shoal::dist
