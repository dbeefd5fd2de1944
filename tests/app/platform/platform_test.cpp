#include "app/platform/platform.h"

#include <catch2/catch.hpp>

#include "tests/support/capture.h"
#include "train/job/job.h"

using namespace shoal;
using test::Folder;

TEST_CASE("a training container is detected by its configuration folder") {
  Folder folder;
  const dist::Variables environment = {{"SAGEMAKER_BASE_DIR", folder.text()}};
  CHECK(app::platform_base(environment) == folder.text());
  CHECK(app::platform_base({}) == "/opt/ml");
  CHECK_FALSE(app::on_platform(environment));
  test::write_text(folder / "input/config/hyperparameters.json", "{}");
  CHECK(app::on_platform(environment));
  // Without resourceconfig.json the hosts are unknown.
  CHECK(app::with_platform_hosts(environment, 4) == environment);
}

TEST_CASE("the hosts of a training job are found without a toolkit's variables") {
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

  environment["SM_CURRENT_HOST"] = "algo-1";  // a toolkit's variable overrides the file
  CHECK(app::with_platform_hosts(environment, 4)["SM_CURRENT_HOST"] == "algo-1");
  test::write_text(config, "{\"hosts\": 3}");
  CHECK_THROWS_AS(app::with_platform_hosts(environment, 0), UserError);
  CHECK_THROWS_WITH(app::with_platform_hosts(environment, 0),
                    Catch::Contains("resourceconfig.json"));
  environment.erase("SM_CURRENT_HOST");
  for (const auto& [text, part] :
       {std::pair(R"({"hosts": [], "current_host": "a"})", "a list `hosts`"),
        {R"({"hosts": ["a"]})", "`current_host`"},
        {R"({"hosts": ["a", "b"], "current_host": "c"})",
         "current_host is c, which is not in hosts"}}) {
    test::write_text(config, text);
    CHECK_THROWS_WITH(app::with_platform_hosts(environment, 0),
                      Catch::Contains("resourceconfig.json") && Catch::Contains(part));
  }
  test::write_text(config, "{\"hosts\": ");
  CHECK_THROWS_WITH(app::with_platform_hosts(environment, 0),
                    Catch::Contains("resourceconfig.json") && Catch::Contains("ends too early"));
}
