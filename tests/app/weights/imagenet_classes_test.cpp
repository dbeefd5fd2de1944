#include "app/weights/imagenet_classes.h"

#include <catch2/catch.hpp>
#include <set>

using shoal::app::imagenet_classes;

TEST_CASE("ImageNet's classes have the names and the order of torchvision's weights") {
  const auto& names = imagenet_classes();
  REQUIRE(names.size() == shoal::app::kImageNetClasses);
  CHECK(names[0] == "tench");
  CHECK(names[281] == "tabby");
  CHECK(names[504] == "coffee mug");
  CHECK(names[999] == "toilet tissue");
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  for (const std::string& name : names) {
    INFO(name);
    CHECK((!name.empty() && name.front() != ' ' && name.back() != ' '));
  }
}
