#include "app/options/saved_settings.h"

#include <algorithm>
#include <set>

namespace shoal::app {
namespace {

constexpr const char *kOrigin = "checkpoint", *kPlatform = "SageMaker";

// Of these the user's word for one decides about the other too.
constexpr std::pair<const char*, const char*> kTogether[] = {{"lr", "scale-lr"},
                                                             {"global-batch-size", "batch-size"},
                                                             {"val-size", "size"},
                                                             {"val-split", "val"}};

const std::set<std::string>& of_evaluation() {
  static const std::set<std::string> names = {"model", "classes", "size", "val-size",
                                              "interpolation"};
  return names;
}

}  // namespace

void take_saved_settings(Arguments& arguments,
                         const std::vector<std::pair<std::string, std::string>>& saved,
                         size_t data_classes) {
  const auto named = [&arguments](const std::string& option) {
    const auto origin = arguments.origins.find(option);
    if (origin == arguments.origins.end() || origin->second == kOrigin) return false;
    // The platform's word about a channel does not change the order of a run that is under way.
    return option != "forward-reads" || origin->second != kPlatform;
  };
  for (const auto& [name, value] : saved) {
    std::string option = name;
    std::replace(option.begin(), option.end(), '_', '-');
    if (!find_option(arguments.command, option) || named(option)) continue;
    if (arguments.job.eval_only && !of_evaluation().contains(option)) continue;
    if (option == "ema" && value == "off") continue;
    if (option == "classes" && value == std::to_string(data_classes)) continue;
    const bool decided =
        std::any_of(std::begin(kTogether), std::end(kTogether),
                    [&](const auto& pair) { return option == pair.first && named(pair.second); });
    if (!decided) apply(arguments, option, value, kOrigin);
  }
}

}  // namespace shoal::app
