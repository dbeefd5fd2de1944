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

TEST_CASE("the hosts of a training job are known without a toolkit's variables") {
  Folder folder;
  dist::Variables environment = {{"SAGEMAKER_BASE_DIR", folder.text()}};
  CHECK(app::with_platform_hosts(environment, 4) == environment);
  const auto config = folder / "input/config/resourceconfig.json";
  test::write_text(config, R"({"current_host": "algo-2", "hosts": ["algo-1", "algo-2"],
                               "network_interface_name": "eth0"})");
  auto variables = app::with_platform_hosts(environment, 4);
  CHECK(variables["SM_HOSTS"] == R"(["algo-1","algo-2"])");
  CHECK(variables["SM_CURRENT_HOST"] == "algo-2");
  CHECK(variables["SM_NETWORK_INTERFACE_NAME"] == "eth0");
  CHECK(variables["SM_NUM_GPUS"] == "4");
  const auto env = dist::from_sagemaker(variables);
  REQUIRE(env.has_value());
  CHECK(env->hosts.size() == 2);

  environment["SM_CURRENT_HOST"] = "algo-1";  // a toolkit's word wins
  CHECK(app::with_platform_hosts(environment, 4)["SM_CURRENT_HOST"] == "algo-1");
  test::write_text(config, "{\"hosts\": 3}");
  CHECK_THROWS_WITH(app::with_platform_hosts(environment, 0),
                    Catch::Contains("resourceconfig.json"));
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
