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

TEST_CASE("the multiply-adds at the start are those of the images of the run") {
  ResolvedJob job;
  job.model.name = "resnet18";
  job.progression.size = 64;
  CHECK_THAT(start_block(job, "", ""), Catch::StartsWith("resnet18, 11,689,512 parameters, 0.15 G "
                                                         "multiply-adds per image at 64 px\n"));
  job.eval_only = true;
  job.val_size = 224;
  CHECK_THAT(start_block(job, "", ""),
             Catch::Contains(" 1.81 G multiply-adds per image at 224 px"));
}
