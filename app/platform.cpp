#include "app/platform.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace shoal::app {
namespace {

namespace fs = std::filesystem;

std::string value_or(const dist::Variables& environment, const char* name,
                     const std::string& otherwise) {
  const auto entry = environment.find(name);
  return entry == environment.end() || entry->second.empty() ? otherwise : entry->second;
}

}  // namespace

fs::path platform_base(const dist::Variables& environment) {
  return value_or(environment, "SAGEMAKER_BASE_DIR", "/opt/ml");
}

bool on_platform(const dist::Variables& environment) {
  std::error_code error;
  return fs::exists(platform_base(environment) / "input/config/resourceconfig.json", error);
}

dist::Variables with_platform_hosts(dist::Variables environment, int gpus) {
  if (!on_platform(environment)) return environment;
  const fs::path path = platform_base(environment) / "input/config/resourceconfig.json";
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  const bool sound = json.is_object() && json.contains("hosts") && json["hosts"].is_array() &&
                     json.contains("current_host") && json["current_host"].is_string();
  if (!sound) {
    throw std::runtime_error(path.string() +
                             " names no hosts and current_host; the platform wrote it damaged");
  }
  const auto interface = json.find("network_interface_name");
  const auto set = [&](const char* name, const std::string& value) {
    if (std::string& present = environment[name]; present.empty()) present = value;
  };
  set("SM_HOSTS", json["hosts"].dump());
  set("SM_CURRENT_HOST", json["current_host"].get<std::string>());
  if (interface != json.end() && interface->is_string())
    set("SM_NETWORK_INTERFACE_NAME", interface->get<std::string>());
  set("SM_NUM_GPUS", std::to_string(gpus));
  set("SM_RESOURCE_CONFIG", json.dump());  // instance groups
  return environment;
}

void adapt_to_platform(train::Job& job, const dist::Variables& environment) {
  if (!on_platform(environment)) return;
  job.on_platform = true;
  if (job.checkpoint_dir) return;
  const fs::path base = platform_base(environment),
                 config = base / "input/config/checkpointconfig.json";
  job.checkpoint_dir = (base / "checkpoints").string();
  std::ifstream file(config);
  if (!file) return;  // the job has no CheckpointConfig
  const auto json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    throw std::runtime_error(config.string() +
                             " is not a JSON object; the platform wrote it damaged");
  job.checkpoint_dir = json.value("LocalPath", *job.checkpoint_dir);
}

}  // namespace shoal::app
