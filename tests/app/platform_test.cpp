#include "app/platform.h"

#include <catch2/catch.hpp>

#include "capture.h"

using namespace shoal;
using test::Folder;

TEST_CASE("outside a training container nothing changes") {
  Folder folder;
  train::Job job;
  app::adapt_to_platform(job, {{"SAGEMAKER_BASE_DIR", folder.text()}});
  CHECK_FALSE(job.on_platform);
  CHECK_FALSE(job.checkpoint_dir.has_value());
}

TEST_CASE("in a training container checkpoints go where the platform syncs them") {
  Folder folder;
  const dist::Variables environment = {{"SAGEMAKER_BASE_DIR", folder.text()}};
  test::write_text(folder / "input/config/resourceconfig.json", "{}");
  train::Job job;
  app::adapt_to_platform(job, environment);
  CHECK(job.on_platform);
  CHECK(job.checkpoint_dir == folder.text() + "/checkpoints");

  test::write_text(folder / "input/config/checkpointconfig.json", R"({"LocalPath": "/state"})");
  train::Job configured;
  app::adapt_to_platform(configured, environment);
  CHECK(configured.checkpoint_dir == "/state");

  train::Job chosen;
  chosen.checkpoint_dir = "mine";
  app::adapt_to_platform(chosen, environment);
  CHECK(chosen.checkpoint_dir == "mine");

  test::write_text(folder / "input/config/checkpointconfig.json", "{broken");
  train::Job broken;
  CHECK_THROWS_WITH(app::adapt_to_platform(broken, environment),
                    Catch::Contains("checkpointconfig.json"));
}
