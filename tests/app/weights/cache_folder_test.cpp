#include "app/weights/cache_folder.h"

#include <catch2/catch.hpp>

using shoal::app::weights_cache_folder;

TEST_CASE("downloaded weights go to a subfolder of the first cache folder that a variable names") {
  shoal::dist::Variables environment;
  CHECK(weights_cache_folder(environment).empty());
  environment["HOME"] = "/home/me";
  CHECK(weights_cache_folder(environment) == "/home/me/.cache/shoal/weights");
  environment["XDG_CACHE_HOME"] = "/cache";
  CHECK(weights_cache_folder(environment) == "/cache/shoal/weights");
  environment["SAGEMAKER_MANAGED_WARMPOOL_CACHE_DIRECTORY"] = "/warm";
  CHECK(weights_cache_folder(environment) == "/warm/shoal/weights");
  environment["SHOAL_CACHE"] = "";  // set but empty counts as not set
  CHECK(weights_cache_folder(environment) == "/warm/shoal/weights");
  environment["SHOAL_CACHE"] = "/shoal";
  CHECK(weights_cache_folder(environment) == "/shoal/weights");
}
