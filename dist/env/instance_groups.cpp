#include "dist/env/instance_groups.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "dist/env/variables.h"

namespace shoal::dist {

namespace {

using Json = nlohmann::json;

void add_group(InstanceGroups& groups, const char* variable, const std::string& name,
               const Json& group) {
  if (!group.is_object() || !group.contains("hosts"))
    bad_variable(std::string(variable) + " names no hosts of the instance group " + name);
  groups[name] = name_list(variable, group["hosts"].dump());
}

// Returns an empty object if the variable is not set.
Json resource_config(const Variables& variables) {
  const std::string* text = find(variables, "SM_RESOURCE_CONFIG");
  if (!text) return Json::object();
  Json json = parse_json(*text);
  if (!json.is_object())
    bad_variable("SM_RESOURCE_CONFIG is '" + *text + "', but must be a JSON object");
  return json;
}

std::vector<std::string> names_of(const InstanceGroups& groups) {
  std::vector<std::string> names;
  for (const auto& [name, hosts] : groups) names.push_back(name);
  return names;
}

}  // namespace

InstanceGroups instance_groups(const Variables& variables) {
  InstanceGroups groups;
  if (const std::string* text = find(variables, "SM_INSTANCE_GROUPS_DICT")) {
    const Json json = parse_json(*text);
    if (!json.is_object())
      bad_variable("SM_INSTANCE_GROUPS_DICT is '" + *text + "', but must be a JSON object");
    for (const auto& [name, group] : json.items())
      add_group(groups, "SM_INSTANCE_GROUPS_DICT", name, group);
    return groups;
  }
  const Json json = resource_config(variables);
  for (const Json& group : json.value("instance_groups", Json::array())) {
    const Json name = group.is_object() ? group.value("instance_group_name", Json()) : Json();
    if (!name.is_string())
      bad_variable("SM_RESOURCE_CONFIG has an instance group without instance_group_name");
    add_group(groups, "SM_RESOURCE_CONFIG", name.get<std::string>(), group);
  }
  return groups;
}

std::vector<std::string> listed_hosts(const Variables& variables) {
  const Json json = resource_config(variables);
  return json.contains("hosts") ? name_list("SM_RESOURCE_CONFIG", json["hosts"].dump())
                                : std::vector<std::string>();
}

std::vector<std::string> requested_groups(const Variables& variables) {
  const char* name = "SM_DISTRIBUTION_INSTANCE_GROUPS";
  const std::string* text = find(variables, name);
  return text && *text != "[]" ? name_list(name, *text) : std::vector<std::string>();
}

bool keep_groups(Hosts& hosts, const InstanceGroups& groups,
                 const std::vector<std::string>& requested) {
  if (requested.empty() && groups.size() <= 1) return true;
  if (requested.empty())
    bad_variable("the job has the instance groups " + joined(names_of(groups)) +
                 "; choose with --instance-group NAME (comma-separated for several)");
  std::vector<std::string> chosen;
  for (const std::string& name : requested) {
    const auto group = groups.find(name);
    if (group == groups.end())
      bad_variable(
          "there is no instance group " + name +
          (groups.empty() ? ": the job has none" : "; the job has " + joined(names_of(groups))));
    chosen.insert(chosen.end(), group->second.begin(), group->second.end());
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  hosts.hosts = chosen;
  return std::binary_search(chosen.begin(), chosen.end(), hosts.current_host);
}

}  // namespace shoal::dist
