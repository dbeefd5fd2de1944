#include "app/weights/cache_folder.h"

namespace shoal::app {

std::string weights_cache_folder(const dist::Variables& environment) {
  const struct {
    const char *variable, *folder;
  } places[] = {{"SHOAL_CACHE", "/weights"},
                {"SAGEMAKER_MANAGED_WARMPOOL_CACHE_DIRECTORY", "/shoal/weights"},
                {"XDG_CACHE_HOME", "/shoal/weights"},
                {"HOME", "/.cache/shoal/weights"}};
  for (const auto& [variable, folder] : places)
    if (const std::string value = dist::value_of(environment, variable); !value.empty())
      return value + folder;
  return "";
}

}  // namespace shoal::app
