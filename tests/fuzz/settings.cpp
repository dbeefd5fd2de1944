// Fuzzes JSON from SageMaker: hyperparameters, the files of a training container, and the hosts of
// a job. The first byte chooses the file or variable, or the functions that decode a single value.
#include "app/options/settings/settings.h"

#include <cstdint>
#include <stdexcept>

#include "app/options/settings/encodings.h"
#include "app/platform/platform.h"
#include "dist/env/instance_groups.h"

using namespace shoal;
using namespace shoal::app;

namespace {

constexpr const char* kFiles[] = {"hyperparameters.json", "inputdataconfig.json",
                                  "checkpointconfig.json"};

// Reads the hosts of the job and their instance groups, as the launcher does.
void read_hosts(const dist::Variables& given, const Files& files) {
  const dist::Variables environment = with_platform_hosts(given, 1, files);
  const auto hosts = dist::from_sagemaker(environment);
  const dist::InstanceGroups groups = dist::instance_groups(environment);
  dist::listed_hosts(environment);
  if (!hosts) return;
  dist::for_worker(*hosts, 0);
  for (const auto& [name, members] : groups) {
    dist::Hosts of_group = *hosts;
    if (dist::keep_groups(of_group, groups, {name})) dist::for_worker(of_group, 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t choice = data[0] % 12;
  dist::Variables environment;
  if (choice == 3) environment["SM_HPS"] = text;
  if (choice == 4) environment["SM_CHANNELS"] = text;
  if (choice == 5) environment["SM_HP_lr-decay-epochs"] = text;
  if (choice == 9) environment["SM_RESOURCE_CONFIG"] = text;
  if (choice == 10) environment["SM_HOSTS"] = text;
  if (choice == 11) environment["SM_INSTANCE_GROUPS_DICT"] = text;
  if (choice > 8) environment["SM_CURRENT_HOST"] = "algo-1";
  if (choice == 9 || choice == 11) environment["SM_HOSTS"] = R"(["algo-1", "algo-2"])";
  Files files;
  files.is_folder = [](const std::string& path) { return path.ends_with("input/config"); };
  files.folders = [](const std::string&) { return std::vector<std::string>{"train"}; };
  files.read = [&](const std::string& path) -> std::optional<std::string> {
    if (choice < 3 && path.ends_with(kFiles[choice])) return text;
    if (choice == 8 && path.ends_with("resourceconfig.json")) return text;
    return std::nullopt;
  };
  try {
    if (choice >= 8) {
      read_hosts(environment, files);
    } else if (choice >= 6) {
      decoded(text);
      joined_list(text, choice == 6 ? "," : ",:");
    } else {
      const Arguments arguments = gather({"train"}, environment, files);
      requested_text(arguments);
      command_text(arguments);
    }
  } catch (const UserError&) {
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
