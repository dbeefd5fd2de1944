#include <catch2/catch.hpp>

#include "train/report/sinks.h"

using namespace shoal::train;

TEST_CASE("the settings at the start leave out those with default values") {
  ResolvedJob job;
  const auto add = [&](const char* name, const char* value, bool is_default) {
    SavedSetting setting;
    setting.name = name;
    setting.value = value;
    setting.is_default = is_default;
    job.settings.push_back(setting);
  };
  add("lr", "0.1", true);
  add("nesterov", "false", false);
  add("clip", "10", false);
  CHECK(settings_block(job, false) ==
        "settings nesterov=false  clip=10\n         all others have their default values");
  CHECK(settings_block(job, true) == "settings lr=0.1  nesterov=false  clip=10");
}
