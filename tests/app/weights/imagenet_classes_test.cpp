#include "app/weights/imagenet_classes.h"

#include <algorithm>
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

TEST_CASE("the class folders of ImageNet are in the order of its labels") {
  const auto& names = shoal::app::imagenet_synsets();
  REQUIRE(names.size() == shoal::app::kImageNetClasses);
  CHECK(names[0] == "n01440764");    // tench
  CHECK(names[281] == "n02123045");  // tabby
  CHECK(names[999] == "n15075141");  // toilet tissue
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
}
