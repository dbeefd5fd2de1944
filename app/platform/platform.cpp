#include "app/platform/platform.h"

#include <algorithm>

#include "app/platform/platform_json.h"
#include "base/json.h"
#include "train/job/job.h"

namespace shoal::app {

namespace fs = std::filesystem;

fs::path platform_base(const dist::Variables& environment) {
  const std::string base = dist::value_of(environment, "SAGEMAKER_BASE_DIR");
  return base.empty() ? "/opt/ml" : base;
}

bool on_platform(const dist::Variables& environment, const Files& files) {
  return files.is_folder(platform_base(environment) / "input/config");
}

dist::Variables with_platform_hosts(dist::Variables environment, int gpus, const Files& files) {
  const std::string path = platform_base(environment) / "input/config/resourceconfig.json";
  const auto text = files.read(path);
  if (!text) return environment;
  const auto json = parse_platform_json(path, *text);
  const auto refuse = [&](const std::string& what) {
    throw UserError(path + what + ", so the other hosts of the job are unknown; correct the file");
  };
  if (!json.contains("hosts") || !json["hosts"].is_array() || json["hosts"].empty())
    refuse(" does not contain a list `hosts`");
  if (!json.contains("current_host") || !json["current_host"].is_string())
    refuse(" does not contain a string `current_host`");
  const auto& hosts = json["hosts"];
  if (std::find(hosts.begin(), hosts.end(), json["current_host"]) == hosts.end())
    refuse(": current_host is " + json["current_host"].get<std::string>() +
           ", which is not in hosts " + hosts.dump());
  const auto interface = json.find("network_interface_name");
  const auto set = [&](const char* name, const std::string& value) {
    if (std::string& present = environment[name]; present.empty()) present = value;
  };
  set("SM_HOSTS", json["hosts"].dump());
  set("SM_CURRENT_HOST", json["current_host"].get<std::string>());
  if (interface != json.end() && interface->is_string())
    set("SM_NETWORK_INTERFACE_NAME", interface->get<std::string>());
  set("SM_NUM_GPUS", std::to_string(gpus));
  set("SM_RESOURCE_CONFIG", json.dump());  // contains the instance groups
  return environment;
}

}  // namespace shoal::app
